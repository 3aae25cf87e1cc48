// plan: what a filter costs and what it saves, before there is one. Needs no daemon.
#include <array>
#include <cstdio>
#include <string>

#include "geometry/geometry.h"
#include "json.h"
#include "numbers.h"
#include "output.h"
#include "verbs.h"

namespace shmbloom::ctl {

namespace {

using geometry::Geometry;
using geometry::LayoutChoice;

constexpr std::array kFull{0.5, 1.0, 1.25, 1.5}; // shares of the capacity that are looked at
constexpr std::array kRates{0.1, 0.01, 0.001, 0.0001};

std::optional<Geometry> geometry_of(std::uint64_t n, double p, LayoutChoice choice) {
    auto planned = geometry::plan(n, p, choice);
    const auto *made = std::get_if<Geometry>(&planned);
    return made == nullptr ? std::nullopt : std::optional{*made};
}

const char *layout_of(const Geometry &g) {
    return g.shape.layout == SHMBLOOM_LAYOUT_BLOCKED ? "blocked" : "classic";
}

double bits_per_key(const Geometry &g, std::uint64_t n) {
    return static_cast<double>(g.bits_bytes) * 8 / static_cast<double>(n);
}

double fpr_at(const Geometry &g, std::uint64_t n, double share) {
    return geometry::expected_fpr(g.shape, static_cast<double>(n) * share);
}

std::string real_text(double value, int decimals) {
    char text[48];
    std::snprintf(text, sizeof text, "%.*f", decimals, value);
    return text;
}

// Lookups of IDs that do not exist and still go on to the database, a second, over all machines.
double let_through(const PlanOptions &options, double fpr) {
    return static_cast<double>(*options.lookups) * static_cast<double>(options.machines) * fpr;
}

std::string queries_text(double a_second) {
    return a_second < 10 ? real_text(a_second, 1) : format_count(static_cast<std::uint64_t>(a_second + 0.5));
}

std::string column(std::string text, std::size_t width) {
    text.resize(std::max(width, text.size() + 1), ' ');
    return text;
}

std::string probes_text(const Geometry &g) {
    const std::string probes = std::to_string(g.shape.probes);
    if (g.shape.layout == SHMBLOOM_LAYOUT_BLOCKED)
        return "1 line, " + std::to_string(4 * g.shape.probes) + " bits";
    return probes + " bits, a line each";
}

std::string row(const std::string &title, const std::string &classic, const std::string &blocked) {
    return "  " + column(title, 26) + column(classic, 24) + blocked + "\n";
}

struct Layouts {
    std::optional<Geometry> classic, blocked;

    template <class Show>
    std::string line(const std::string &title, Show show) const {
        return row(title, classic ? show(*classic) : "-", blocked ? show(*blocked) : "-");
    }
};

std::string layouts_text(const PlanOptions &options, const Layouts &layouts, const Geometry &taken) {
    const std::uint64_t n = options.capacity;
    const auto mark = [&](const char *name) {
        return std::string{name} + (std::string_view{name} == layout_of(taken) ? " (auto)" : "");
    };
    std::string text = row("", mark("classic"), mark("blocked"));
    text += layouts.line("bits a key", [n](const Geometry &g) { return real_text(bits_per_key(g, n), 2); });
    text += layouts.line("a lookup reads", probes_text);
    text += layouts.line("memory", [](const Geometry &g) { return format_bytes(g.segment_bytes); });
    text +=
        layouts.line("memory during a rebuild", [](const Geometry &g) { return format_bytes(2 * g.segment_bytes); });
    for (const double share : kFull)
        text += layouts.line("rate at " + format_share(share) + " of N",
                             [=](const Geometry &g) { return format_share(fpr_at(g, n, share)); });
    return text;
}

std::string traffic_text(const PlanOptions &options) {
    std::string text;
    if (options.lookups)
        text += "  of " + format_count(*options.lookups) + " lookups a second on each of " +
                std::to_string(options.machines) + (options.machines == 1 ? " machine" : " machines") +
                ", all for IDs that\n  do not exist, " + queries_text(let_through(options, options.fpr)) +
                " a second reach the database (at 100 %)\n";
    if (options.adds_per_day && *options.adds_per_day > 0)
        text += "  full after " + format_count(options.capacity / *options.adds_per_day) + " days of " +
                format_count(*options.adds_per_day) + " new IDs a day\n";
    return text;
}

std::string rates_text(const PlanOptions &options) {
    std::string text = "  " + column("rate", 8) + column("bits a key", 12) + column("memory", 13) +
                       column("layout", 9) + column("a lookup reads", 21) + (options.lookups ? "let through/s" : "") +
                       "\n";
    for (const double rate : kRates) {
        const auto g = geometry_of(options.capacity, rate, LayoutChoice::automatic);
        if (!g)
            continue;
        text += "  " + column(format_share(rate), 8) + column(real_text(bits_per_key(*g, options.capacity), 2), 12) +
                column(format_bytes(g->segment_bytes), 13) + column(layout_of(*g), 9) + column(probes_text(*g), 21) +
                (options.lookups ? queries_text(let_through(options, rate)) : "") + "\n";
    }
    return text;
}

Json fields_of(const PlanOptions &options, const Geometry &g) {
    Json fields{{"layout", layout_of(g)},
                {"fpr", options.fpr},
                {"bits_per_key", bits_per_key(g, options.capacity)},
                {"probes", g.shape.probes},
                {"memory_bytes", g.segment_bytes},
                {"memory_during_rebuild_bytes", 2 * g.segment_bytes},
                {"fpr_at", Json::object()}};
    for (const double share : kFull)
        fields["fpr_at"][real_text(share * 100, 0)] = fpr_at(g, options.capacity, share);
    fields["let_through_per_second"] = options.lookups ? Json(let_through(options, options.fpr)) : Json{};
    return fields;
}

Json all_fields(const PlanOptions &options, const Layouts &layouts, const Geometry &taken) {
    Json fields{{"capacity", options.capacity}, {"fpr", options.fpr}, {"auto", layout_of(taken)}};
    fields["classic"] = layouts.classic ? fields_of(options, *layouts.classic) : Json{};
    fields["blocked"] = layouts.blocked ? fields_of(options, *layouts.blocked) : Json{};
    fields["full_in_days"] =
        options.adds_per_day && *options.adds_per_day > 0
            ? Json(static_cast<double>(options.capacity) / static_cast<double>(*options.adds_per_day))
            : Json{};
    fields["rates"] = Json::array();
    for (const double rate : kRates) {
        PlanOptions other = options;
        other.fpr = rate;
        if (const auto g = geometry_of(options.capacity, rate, LayoutChoice::automatic))
            fields["rates"].push_back(fields_of(other, *g));
    }
    return fields;
}

} // namespace

int run(const Where &, const PlanOptions &options) {
    const auto planned = geometry::plan(options.capacity, options.fpr, LayoutChoice::automatic);
    if (const auto *wrong = std::get_if<std::string>(&planned))
        return fail({Exit::usage, *wrong});
    const Geometry taken = std::get<Geometry>(planned);
    const Layouts layouts{geometry_of(options.capacity, options.fpr, LayoutChoice::classic),
                          geometry_of(options.capacity, options.fpr, LayoutChoice::blocked)};
    print("N = " + format_count(options.capacity) + " keys at a rate of " + format_share(options.fpr) +
          " false positives\n\n" + layouts_text(options, layouts, taken) + "\n");
    if (const std::string traffic = traffic_text(options); !traffic.empty())
        print(traffic + "\n");
    print(rates_text(options));
    return conclude(all_fields(options, layouts, taken), {});
}

} // namespace shmbloom::ctl
