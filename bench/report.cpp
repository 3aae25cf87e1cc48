#include "report.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

namespace shmbloom::bench {

namespace {

std::string cell(const char *format, double value) {
    char text[32] = "";
    if (value >= 0)
        std::snprintf(text, sizeof text, format, value);
    return text;
}

nlohmann::json to_json(const Spread &spread) {
    return {{"p10", spread.low}, {"median", spread.median}, {"p90", spread.high}};
}

nlohmann::json or_null(double value) {
    return value >= 0 ? nlohmann::json(value) : nlohmann::json();
}

nlohmann::json to_json(const Row &row) {
    return {{"what", row.what},
            {"keys", row.keys},
            {"layout", row.layout},
            {"ns", to_json(row.ns)},
            {"to_line_loads", row.to_base.median >= 0 ? to_json(row.to_base) : nlohmann::json()},
            {"fpr", or_null(row.fpr)},
            {"bits_per_key", or_null(row.bits_per_key)},
            {"huge_page_share", or_null(row.huge_page_share)}};
}

} // namespace

double huge_page_share(const std::string &name) {
    std::ifstream maps{"/proc/self/smaps"};
    double least = 1;
    bool ours = false;
    double size = 0;
    for (std::string line; std::getline(maps, line);) {
        std::istringstream words{line};
        std::string key;
        double kib = 0;
        words >> key >> kib;
        if (key.find('-') != std::string::npos)
            ours = line.ends_with(name);
        else if (ours && key == "Size:")
            size = kib;
        else if (ours && key == "ShmemPmdMapped:")
            least = std::min(least, kib / size);
    }
    return least;
}

void print_table(const Report &report) {
    std::size_t longest = 0;
    for (const Row &row : report.rows)
        longest = std::max(longest, row.what.size());
    const int width = static_cast<int>(longest);
    std::printf("%-*s %10s %-8s %8s %8s %8s  %7s %7s %7s  %9s %8s %6s\n", width, "ns an operation", "keys", "layout",
                "median", "10 %", "90 %", "x lines", "10 %", "90 %", "fpr", "bits/key", "huge");
    for (const Row &row : report.rows)
        std::printf("%-*s %10s %-8s %8.2f %8.2f %8.2f  %7s %7s %7s  %9s %8s %6s\n", width, row.what.c_str(),
                    row.keys > 0 ? cell("%.0f", static_cast<double>(row.keys)).c_str() : "", row.layout.c_str(),
                    row.ns.median, row.ns.low, row.ns.high, cell("%.2f", row.to_base.median).c_str(),
                    cell("%.2f", row.to_base.low).c_str(), cell("%.2f", row.to_base.high).c_str(),
                    cell("%.5f", row.fpr).c_str(), cell("%.2f", row.bits_per_key).c_str(),
                    cell("%.2f", row.huge_page_share).c_str());
    std::printf("\n%u rounds of %zu operations, seed %llu. The same twice: ratio %.3f (%.3f to %.3f).\n", report.rounds,
                report.batch, static_cast<unsigned long long>(report.seed), report.again.median, report.again.low,
                report.again.high);
    if (report.disturbance.rounds > 0)
        std::printf("%u rounds were disturbed by other work on this machine, and %s.\n", report.disturbance.rounds,
                    report.disturbance.kept ? "are counted, for there were too few others" : "left out");
}

void write_json(const Report &report, const std::string &path) {
    nlohmann::json rows = nlohmann::json::array();
    for (const Row &row : report.rows)
        rows.push_back(to_json(row));
    const nlohmann::json all = {{"schema", 2},
                                {"rows", rows},
                                {"same_twice", to_json(report.again)},
                                {"rounds", report.rounds},
                                {"operations", report.batch},
                                {"seed", report.seed},
                                {"disturbed_rounds", report.disturbance.rounds},
                                {"disturbed_rounds_counted", report.disturbance.kept}};
    std::ofstream file{path};
    file << all.dump(2) << '\n';
    if (!file.flush())
        throw std::runtime_error("cannot write '" + path + "'");
}

} // namespace shmbloom::bench
