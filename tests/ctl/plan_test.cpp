// plan's numbers are those of the geometry that the daemon uses.
#include <gtest/gtest.h>

#include <sstream>

#include <nlohmann/json.hpp>

#include "geometry/geometry.h"
#include "process.h"

namespace shmbloom::test {
namespace {

using nlohmann::json;

Finished plan(std::vector<std::string> more) {
    more.insert(more.begin(), {SHMBLOOMCTL_PATH, "plan"});
    return run(more);
}

void expect_geometry(const json &shown, std::uint64_t n, double p, geometry::LayoutChoice choice) {
    const auto planned = std::get<geometry::Geometry>(geometry::plan(n, p, choice));
    EXPECT_EQ(shown.at("probes"), planned.shape.probes);
    EXPECT_EQ(shown.at("memory_bytes"), planned.segment_bytes);
    EXPECT_EQ(shown.at("memory_during_rebuild_bytes"), 2 * planned.segment_bytes);
    for (const auto &[percent, share] : {std::pair{"50", 0.5}, {"100", 1.0}, {"125", 1.25}, {"150", 1.5}})
        EXPECT_DOUBLE_EQ(shown.at("fpr_at").at(percent),
                         geometry::expected_fpr(planned.shape, static_cast<double>(n) * share));
}

TEST(Plan, ShowsBothLayoutsAsTheGeometryMakesThem) {
    for (const auto &[n, p] : {std::pair{std::uint64_t{400'000'000}, 1e-3}, {1'000'000, 1e-2}, {1'000, 1e-4}}) {
        SCOPED_TRACE(n);
        const auto shown =
            json::parse(plan({"--capacity", std::to_string(n), "--fpr", std::to_string(p), "--json"}).output);
        expect_geometry(shown.at("classic"), n, p, geometry::LayoutChoice::classic);
        expect_geometry(shown.at("blocked"), n, p, geometry::LayoutChoice::blocked);
        const auto taken = std::get<geometry::Geometry>(geometry::plan(n, p, geometry::LayoutChoice::automatic));
        EXPECT_EQ(shown.at("auto"), taken.shape.layout == SHMBLOOM_LAYOUT_BLOCKED ? "blocked" : "classic");
        expect_geometry(shown.at("rates")[2], n, 1e-3, geometry::LayoutChoice::automatic);
        EXPECT_EQ(shown.at("rates").size(), 4u);
    }
}

TEST(Plan, SpeaksOfQueriesAndDays) {
    const std::vector<std::string> line{"--capacity", "400M",       "--fpr", "0.1%",           "--lookups",
                                        "150k",       "--machines", "40",    "--adds-per-day", "5M"};
    const Finished shown = plan(line);
    EXPECT_EQ(shown.code, 0);
    EXPECT_NE(shown.output.find("6000 a second reach the database"), std::string::npos) << shown.output;
    EXPECT_NE(shown.output.find("full after 80 days"), std::string::npos) << shown.output;
    std::istringstream lines{shown.output};
    for (std::string text; std::getline(lines, text);)
        EXPECT_LE(text.size(), 80u) << text;
    auto with_json = line;
    with_json.push_back("--json");
    const auto object = json::parse(plan(with_json).output);
    EXPECT_DOUBLE_EQ(object.at("blocked").at("let_through_per_second"), 6000);
    EXPECT_DOUBLE_EQ(object.at("full_in_days"), 80);
}

TEST(Plan, WithoutLookupsAndAddsKnowsNoQueriesAndDays) {
    const auto object = json::parse(plan({"--capacity", "1M", "--fpr", "1%", "--json"}).output);
    EXPECT_TRUE(object.at("full_in_days").is_null());
    EXPECT_TRUE(object.at("classic").at("let_through_per_second").is_null());
    EXPECT_EQ(plan({"--capacity", "1M", "--fpr", "1e-8"}).code, 0) << "no blocked layout, but a classic one";
    EXPECT_EQ(plan({"--capacity", "1M"}).code, 3);
    EXPECT_EQ(plan({"--capacity", "2e12", "--fpr", "1%"}).code, 3);
}

} // namespace
} // namespace shmbloom::test
