// What `status` says of generations, growth and holders.
#include "generations.h"
#include "holder_view.h"

#include <gtest/gtest.h>

using namespace shmbloom::ctl;

namespace {

constexpr std::uint64_t kNow = 1'700'000'000;
constexpr std::uint64_t kMiB = 1 << 20;

Reply info_of(const std::vector<std::pair<std::string, std::string>> &fields) {
    Reply info;
    for (const auto &[name, value] : fields) {
        info.elements.push_back({SHMBLOOM__BULK, 0, name, {}});
        info.elements.push_back({SHMBLOOM__BULK, 0, value, {}});
    }
    return info;
}

// All lines, with what belongs to each, one to a line.
std::string lines_of(const Generations &generations, const Filling &filling) {
    std::string text;
    for (const GenerationLine &line : generation_lines({}, "links", generations, filling, kNow))
        text += line.text + (line.act.empty() ? "" : " | " + line.label + ": " + line.act) + "\n";
    return text;
}

Generations growable() {
    Generations generations;
    generations.growable = true;
    generations.hash_list = "complete";
    generations.grows_at_keys = 900;
    generations.grows_to_capacity = 2000;
    generations.growth_bytes = 3 * kMiB;
    return generations;
}

} // namespace

TEST(Generations, AreSilentAboutAFilterThatHasNothingToSay) {
    EXPECT_EQ(lines_of({}, {500, 1000, 0}), "");
    EXPECT_EQ(lines_of(growable(), {699, 1000, 0}), "");
}

TEST(Generations, SayWhatARollbackLeadsTo) {
    Generations generations;
    generations.previous = 13;
    generations.previous_until = kNow;
    EXPECT_EQ(lines_of(generations, {}),
              "generation 13 is kept until 2023-11-14 22:13:20 UTC | back: shmbloomctl rollback links\n");
}

TEST(Generations, SayWhatIsBeingBuilt) {
    Generations generations;
    generations.building = "rebuild";
    generations.building_by = "pid 812, uid 0";
    generations.building_since = kNow - 240;
    generations.building_keys = 123'400'000;
    EXPECT_EQ(lines_of(generations, {}), "rebuild under way for 4 min (pid 812, uid 0): 123.4 M keys so far\n");
}

TEST(Generations, SayFromSeventyPercentOnWhenTheyGrowAndWhetherItFits) {
    EXPECT_EQ(lines_of(growable(), {700, 1000, 100}),
              "grows at 900 keys, in about 2 d, to 2000 keys, which takes 3.00 MiB: that fits\n");
    Generations blocked = growable();
    blocked.growth_missing_bytes = kMiB;
    const std::string text = lines_of(blocked, {700, 1000, 0});
    EXPECT_NE(text.find("that does not fit, 1.00 MiB are missing | ended by: room in shared memory"), std::string::npos)
        << text;
    blocked.growth_blocked = "pids 7 8 hold the old one";
    EXPECT_NE(lines_of(blocked, {100, 1000, 0}).find("refused: pids 7 8 hold the old one"), std::string::npos);
}

TEST(Generations, NameTheWayOutOfAnIncompleteHashListAndOfRefusedAdds) {
    Generations generations = growable();
    generations.hash_list = "incomplete";
    EXPECT_NE(lines_of(generations, {}).find("ended by: shmbloomctl rebuild links --exec -- CMD..."),
              std::string::npos);
    Generations refusing;
    refusing.when_full = "refuse";
    EXPECT_EQ(lines_of(refusing, {100, 1000, 0}), "");
    EXPECT_NE(lines_of(refusing, {700, 1000, 0}).find("refuses adds"), std::string::npos);
}

TEST(Generations, AreReadFromTheWireAndUnknownIsNull) {
    const Generations generations = read_generations(info_of({{"previous_generation", "13"},
                                                              {"growable", "1"},
                                                              {"hash_list", "complete"},
                                                              {"growth_blocked", "no room"},
                                                              {"when_full", "grow"},
                                                              {"building", ""}}));
    Json json;
    put_generations(json, generations);
    EXPECT_EQ(json["previous_generation"], "13");
    EXPECT_EQ(json["growable"], true);
    EXPECT_EQ(json["hash_list"], "complete");
    EXPECT_EQ(json["growth_blocked"], "no room");
    EXPECT_EQ(json["when_full"], "grow");
    EXPECT_EQ(json["building"], nullptr);
    EXPECT_EQ(json["previous_until"], nullptr);
    Json unknown;
    put_generations(unknown, std::nullopt);
    EXPECT_EQ(unknown.size(), json.size());
    for (const auto &[name, value] : unknown.items())
        EXPECT_EQ(value, nullptr) << name;
}

TEST(Holders, OfGenerationsThatAreOverAreNamed) {
    const HolderView view =
        group_by_generation({{{7, 13, kMiB}, {7, 14, 2 * kMiB}, {8, 13, kMiB}, {9, 14, 2 * kMiB}}, 3});
    EXPECT_EQ(view.pinned_bytes(14), kMiB);
    const auto lines = holder_lines(view, 14);
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[0].find("generation 13, 1.00 MiB, is over and still held by pids 7 8: "), 0u) << lines[0];
    EXPECT_EQ(lines[1], "mapped by 2 processes; 3 others could not be looked at (root can)");
    Json json;
    put_holders(json, view, 14);
    EXPECT_EQ(json["holders"][0]["generation"], "13");
    EXPECT_EQ(json["holders"][0]["pids"], (Json{7, 8}));
    EXPECT_EQ(json["holders_unreadable"], 3);
    EXPECT_EQ(json["pinned_bytes"], kMiB);
}

TEST(Holders, ThatWereNotLookedForAreNull) {
    Json json;
    put_holders(json, std::nullopt, 14);
    for (const char *name : {"holders", "holders_unreadable", "pinned_bytes"})
        EXPECT_EQ(json[name], nullptr);
}
