#include "status.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <sstream>

#include <nlohmann/json.hpp>

using namespace shmbloom::ctl;

namespace {

constexpr std::uint64_t kNow = 1'700'000'000;

template <std::size_t n>
void set(char (&field)[n], const char *text) {
    std::snprintf(field, n, "%s", text);
}

FilterStatus live_filter(const char *name) {
    FilterStatus filter;
    shmbloom_info &info = filter.info;
    info.live = 1;
    set(info.name, name);
    set(info.uuid, "01234567-89ab-4cde-8f01-23456789abcd");
    set(info.layout, "blocked");
    set(info.key_type, "bytes");
    set(info.normalize, "trim");
    set(info.durability, "memory");
    info.probes = 2;
    info.hash_domain = 0xABCDEF;
    info.generation = info.lineage = 14;
    info.capacity = 400'000'000;
    info.fpr = 0.001;
    info.bits = 1ull << 33;
    info.blocks = 1ull << 24;
    info.memory_bytes = 1ull << 30;
    info.bits_set = 1ull << 32;
    info.fill = 0.5;
    info.adds_acknowledged = info.adds_new = 300'200'000;
    info.estimated_keys = 300'200'000;
    info.estimated_fpr = 0.00031;
    info.headroom_keys = 99'800'000;
    info.live_since = kNow - 5 * 3600;
    info.daemon_pid = 812;
    return filter;
}

FilterStatus doubtful_filter(const char *name, std::uint32_t doubts, const char *words) {
    FilterStatus filter = live_filter(name);
    filter.info.live = 0;
    filter.info.live_since = 0;
    filter.info.doubts = doubts;
    set(filter.info.doubts_text, words);
    filter.info.doubt_since[1] = kNow - 240;
    return filter;
}

bool says(const std::string &text, const char *part) {
    return text.find(part) != std::string::npos;
}

std::size_t longest_line(const std::string &text) {
    std::size_t longest = 0;
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);)
        longest = std::max(longest, line.size());
    return longest;
}

} // namespace

TEST(StatusText, ShowsALiveFilterInAFewLines) {
    const std::string text = status_text({}, live_filter("links"), kNow);
    EXPECT_TRUE(says(text, "links     LIVE  300.2 M of 400.0 M keys (75 %), rate 0.031 % now, 0.1 % asked\n")) << text;
    EXPECT_TRUE(says(text, "durability: memory")) << text;
    EXPECT_TRUE(says(text, "live for 5 h")) << text;
}

TEST(StatusText, NamesEachDoubtItsAgeAndWhatEndsIt) {
    const Where where{std::nullopt, "/run/x"};
    const std::string text = status_text(where, doubtful_filter("tokens", 2 | 8, "warming,lossy"), kNow);
    EXPECT_TRUE(says(text, "tokens    LOSSY")) << text;
    EXPECT_TRUE(says(text, "every answer is unverified")) << text;
    EXPECT_TRUE(says(text, "warming for 4 min: ")) << text;
    EXPECT_TRUE(says(text, "lossy: acknowledged adds may be missing")) << text;
    EXPECT_TRUE(says(text, "\n            ended by: shmbloomctl --runtime-dir /run/x load tokens --exec -- CMD...\n"))
        << text;
}

TEST(StatusText, FitsEightyColumnsWithEveryDoubtAndWarning) {
    FilterStatus filter = doubtful_filter("a-name-of-some-length", 31, "partial,warming,paused,lossy,damaged");
    filter.info.warnings = 31;
    set(filter.info.warnings_text, "degraded,full,growth_blocked,adds_refused,name_lost");
    set(filter.info.handle_doubts_text, "no_permission: this process is not in the daemon's group 'shmbloom'");
    filter.info.handle_doubts = SHMBLOOM_HANDLE_NO_PERMISSION;
    EXPECT_LE(longest_line(status_text({}, filter, kNow)), 80u) << status_text({}, filter, kNow);
    const Status status{Listing{{}, "/run/shmbloom/default", 240'000}, {filter, live_filter("links")}};
    EXPECT_LE(longest_line(status_text({}, status, kNow)), 80u) << status_text({}, status, kNow);
}

TEST(StatusText, GivesALongNameALineOfItsOwn) {
    const std::string name(64, 'n');
    EXPECT_TRUE(
        says(status_text({}, live_filter(name.c_str()), kNow), (name + "\n          LIVE  300.2 M of").c_str()));
}

TEST(StatusText, SaysSinceWhenTheDaemonIsNotRunning) {
    const Status dead{Listing{{}, "/run/shmbloom/default", 240'000}, {live_filter("links")}};
    EXPECT_TRUE(says(status_text({}, dead, kNow), "daemon not running, heartbeat stopped 4 min ago"));
    const Status alive{Listing{{}, "/run/shmbloom/default", 400}, {live_filter("links")}};
    EXPECT_TRUE(says(status_text({}, alive, kNow), "daemon running, pid 812, heartbeat 0.4 s ago"));
}

TEST(StatusText, TellsADaemonThatHangsFromOneThatIsNotRunning) {
    const Status hung{Listing{{}, "/run/shmbloom/default", 240'000, true}, {live_filter("links")}};
    EXPECT_TRUE(says(status_text({}, hung, kNow), "daemon hangs or is stopped, pid 812, heartbeat stopped 4 min ago"));
}

TEST(StatusText, SaysWhyItIsPausedAndWhatEndsIt) {
    FilterStatus paused = doubtful_filter("links", 4, "paused");
    paused.reasons["paused"] = "links of tonight are 404";
    const std::string text = status_text({"blue", std::nullopt}, paused, kNow);
    EXPECT_TRUE(says(text, "paused (links of tonight are 404): ")) << text;
    EXPECT_TRUE(says(text, "ended by: shmbloomctl --instance blue resume links\n")) << text;
}

TEST(StatusText, NamesWrongAbsentsAndTheOffSwitch) {
    FilterStatus wrong = live_filter("links");
    EXPECT_FALSE(says(status_text({}, wrong, kNow), "wrong absent"));
    wrong.wrong_absents = 3;
    const std::string text = status_text({}, wrong, kNow);
    EXPECT_TRUE(says(text, "wrong absent 3: ")) << text;
    EXPECT_TRUE(says(text, "shmbloomctl pause links\n")) << text;
}

TEST(StatusText, WithoutFiltersItNamesTheCommandThatMakesOne) {
    const Status none{Listing{{}, "/run/x", 400}, {}};
    EXPECT_TRUE(says(status_text({"blue", std::nullopt}, none, kNow), "shmbloomctl --instance blue create NAME"));
}

TEST(Status, SeverityOrdersFromLiveToDamaged) {
    FilterStatus full = live_filter("a");
    set(full.info.warnings_text, "full");
    FilterStatus unreadable = live_filter("a");
    unreadable.info.live = 0;
    EXPECT_EQ(live_filter("a").severity(), 0);
    EXPECT_LT(live_filter("a").severity(), full.severity());
    EXPECT_LT(full.severity(), doubtful_filter("a", 4, "paused").severity());
    EXPECT_LT(doubtful_filter("a", 4, "paused").severity(), doubtful_filter("a", 2, "warming").severity());
    EXPECT_LT(doubtful_filter("a", 2, "warming").severity(), doubtful_filter("a", 8, "lossy").severity());
    EXPECT_LT(doubtful_filter("a", 8, "lossy").severity(), doubtful_filter("a", 16, "damaged").severity());
    EXPECT_LT(full.severity(), unreadable.severity());
}

TEST(StatusJson, HasEveryFieldOfTheListAndIdsAsText) {
    const auto json = nlohmann::json::parse(status_json(doubtful_filter("tokens", 2 | 8, "warming,lossy")));
    for (const char *field : {"name",
                              "live",
                              "doubts",
                              "warnings",
                              "layout",
                              "capacity",
                              "fpr",
                              "bits",
                              "probes",
                              "blocks",
                              "memory_bytes",
                              "huge_page_bytes",
                              "generation",
                              "lineage",
                              "uuid",
                              "hash_domain",
                              "key_type",
                              "normalize",
                              "durability",
                              "adds_acknowledged",
                              "keys_per_day",
                              "full_in_days",
                              "wrong_absent",
                              "would_be_absent",
                              "previous_generation",
                              "adds_new",
                              "bits_set",
                              "fill",
                              "estimated_keys",
                              "estimated_fpr",
                              "headroom_keys",
                              "live_since",
                              "adds_refused"})
        EXPECT_TRUE(json.contains(field)) << field;
    EXPECT_EQ(json["schema"], 1);
    EXPECT_EQ(json["live"], false);
    EXPECT_EQ(json["doubts"], (nlohmann::json{"warming", "lossy"}));
    EXPECT_EQ(json["warnings"], nlohmann::json::array());
    EXPECT_EQ(json["hash_domain"], "0000000000abcdef");
    EXPECT_EQ(json["generation"], "14");
    EXPECT_EQ(json["capacity"], 400'000'000);
    EXPECT_EQ(json["live_since"], nullptr);
}

TEST(StatusJson, FullInDaysFollowsThePace) {
    FilterStatus filter = live_filter("links");
    EXPECT_EQ(nlohmann::json::parse(status_json(filter))["full_in_days"], nullptr);
    filter.info.keys_per_day = 1'000'000;
    EXPECT_DOUBLE_EQ(nlohmann::json::parse(status_json(filter))["full_in_days"], 99.8);
    EXPECT_TRUE(says(status_text({}, filter, kNow), "full in 99 d"));
    filter.info.headroom_keys = SHMBLOOM_UNKNOWN;
    EXPECT_EQ(nlohmann::json::parse(status_json(filter))["full_in_days"], nullptr);
}

TEST(StatusJson, UnknownIsNull) {
    FilterStatus filter = live_filter("links");
    filter.info.estimated_keys = SHMBLOOM_UNKNOWN;
    filter.info.estimated_fpr = -1;
    filter.info.probes = 0;
    auto json = nlohmann::json::parse(status_json(filter));
    EXPECT_EQ(json["estimated_keys"], nullptr);
    EXPECT_EQ(json["estimated_fpr"], nullptr);
    EXPECT_EQ(json["probes"], nullptr);

    FilterStatus unreadable;
    set(unreadable.info.name, "links");
    unreadable.error = "cannot be opened";
    json = nlohmann::json::parse(status_json(unreadable));
    EXPECT_EQ(json["live"], false);
    EXPECT_EQ(json["capacity"], nullptr);
    EXPECT_EQ(json["error"], "cannot be opened");
}

TEST(StatusJson, ListsTheDaemonAndItsFilters) {
    const Status status{Listing{{}, "/run/shmbloom/default", 400}, {live_filter("links"), live_filter("tokens")}};
    const auto json = nlohmann::json::parse(status_json(status));
    EXPECT_EQ(json["schema"], 1);
    EXPECT_EQ(json["daemon"]["running"], true);
    EXPECT_EQ(json["daemon"]["heartbeat_age_ms"], 400);
    EXPECT_EQ(json["daemon"]["pid"], 812);
    EXPECT_EQ(json["filters"].size(), 2u);
    EXPECT_EQ(json["filters"][1]["name"], "tokens");
    EXPECT_EQ(nlohmann::json::parse(status_json(Status{}))["daemon"]["running"], false);
}
