// rebuild, growth, rollback and what status says of them, as an operator types them.
#include <fstream>

#include "operator.h"

namespace shmbloom::test {
namespace {

class RebuildVerbs : public Operator {
  protected:
    // Live with these keys, which no journal holds: what a rebuild does not bring is gone.
    void create_loaded(const std::string &keys, const std::vector<std::string> &more = {}) {
        create("links", more);
        ASSERT_EQ(load("links", "printf '" + keys + "'").code, 0);
    }
    Finished rebuild(const std::string &script, std::vector<std::string> more = {}) {
        std::vector<std::string> line{"rebuild", "links"};
        line.insert(line.end(), more.begin(), more.end());
        line.insert(line.end(), {"--exec", "--", "sh", "-c", script});
        return operate(line);
    }
    std::string answers(const std::vector<std::string> &keys) {
        std::vector<std::string> line{"contains", "links"};
        line.insert(line.end(), keys.begin(), keys.end());
        return operate(line).output;
    }
    std::string generation() { return instance.info("links").at("generation"); }
    std::string file(const std::string &name, const std::string &text) {
        const std::string path = instance.folder() / name;
        std::ofstream{path, std::ios::binary} << text;
        return path;
    }
    // Refused by a guard: exit 6, the word, and that nothing changed, which is so.
    void expect_refused(const Finished &finished, const std::string &word, const std::string &part) {
        EXPECT_EQ(finished.code, 6) << finished.log;
        EXPECT_TRUE(says(finished.log, "shmbloomctl: " + word + ": ")) << finished.log;
        EXPECT_TRUE(says(finished.log, part)) << finished.log;
        EXPECT_TRUE(says(finished.log, "nothing changed")) << finished.log;
    }
};

TEST_F(RebuildVerbs, DeletedKeysLeaveAndOthersStay) {
    create_loaded("a\\nb\\nc\\n");
    const std::string before = generation();
    const Finished done = rebuild("printf 'b\\nc\\nd\\n'");
    ASSERT_EQ(done.code, 0) << done.log;
    EXPECT_TRUE(says(done.output, "first keys as hashed: \"b\", \"c\", \"d\"")) << done.output;
    EXPECT_TRUE(says(done.output, "keys 3, replayed 0; estimated 3 keys, 3 before\n")) << done.output;
    EXPECT_TRUE(says(done.output, ", live\nback: shmbloomctl ")) << done.output;
    EXPECT_EQ(answers({"a", "b", "c", "d"}), "a\tabsent\nb\tmaybe\nc\tmaybe\nd\tmaybe\n");
    EXPECT_NE(generation(), before);
}

TEST_F(RebuildVerbs, AddsOfMeanwhileGoIn) {
    create_loaded("a\\n");
    const std::string tool = std::string{SHMBLOOMCTL_PATH} + " --runtime-dir " + instance.runtime_dir();
    const Finished done = rebuild("echo a; " + tool + " add links during >&2; echo b", {"--overlap", "0"});
    ASSERT_EQ(done.code, 0) << done.log;
    EXPECT_EQ(answers({"a", "b", "during"}), "a\tmaybe\nb\tmaybe\nduring\tmaybe\n");
}

TEST_F(RebuildVerbs, ASourceThatCannotBeBelievedChangesNothing) {
    create_loaded("a\\nb\\n");
    const std::string before = generation();
    const Finished failed = rebuild("echo c; exit 3");
    EXPECT_EQ(failed.code, 8) << failed.log;
    EXPECT_TRUE(says(failed.log, "nothing changed")) << failed.log;
    expect_refused(rebuild("true"), "NOKEYS", "which never replace a filter");
    expect_refused(rebuild("echo a; echo b", {"--expect-at-least", "3"}), "FEWKEYS", "3 keys were expected, 2 came");
    expect_refused(operate({"rebuild", "links", "-"}, "a\nb\n"), "PIPEEND", "rebuild links - --expect-at-least N");
    expect_refused(operate({"rebuild", "links", file("ids", "a\nb\n")}), "NOSINCE", "--since LSN");
    expect_refused(rebuild("echo a"), "RANGE", "--allow-shrink");
    expect_refused(rebuild("printf 'a\\nb\\n '"), "STRAYBLANKS", "line 3: ");
    EXPECT_EQ(generation(), before);
    EXPECT_EQ(answers({"a", "b", "c"}), "a\tmaybe\nb\tmaybe\nc\tabsent\n");
    EXPECT_EQ(rebuild("echo a", {"--allow-shrink", "50"}).code, 0);
    EXPECT_EQ(answers({"a", "b"}), "a\tmaybe\nb\tabsent\n");
}

TEST_F(RebuildVerbs, KeysThatMustBeInItAreNamedWhenTheyAreNot) {
    create_loaded("a\\nb\\n");
    const std::string must = file("must", "a\nx\n\nb\ny z\n");
    const Finished refused = rebuild("echo a; echo b", {"--must-contain", must});
    expect_refused(refused, "RANGE", "2 of 4");
    EXPECT_TRUE(says(refused.output, "missing \"x\"\nmissing \"y z\"\n")) << refused.output;
    EXPECT_EQ(object({"rebuild", "links", "--must-contain", must, "--exec", "--", "echo", "a"}, 6)["missing"],
              nlohmann::json::array())
        << "it has shrunk, which is found first";
    EXPECT_EQ(rebuild("printf 'a\\nb\\nx\\ny z\\n'", {"--must-contain", must}).code, 0);
    EXPECT_EQ(rebuild("echo a", {"--must-contain", instance.folder() / "none"}).code, 8);
    EXPECT_EQ(rebuild("echo a", {"--must-contain", file("empty", "")}).code, 6);
}

TEST_F(RebuildVerbs, ADryRunDoesAllButTheSwitch) {
    create_loaded("a\\nb\\n");
    const std::string before = generation();
    const auto json = object({"rebuild", "links", "--dry-run", "--exec", "--", "printf", "b\\nc\\n"}, 0);
    EXPECT_EQ(json["switched"], false);
    EXPECT_EQ(json["dry_run"], true);
    EXPECT_EQ(json["keys"], 2);
    EXPECT_EQ(json["lines"], 2);
    EXPECT_EQ(json["error"], nullptr);
    EXPECT_EQ(generation(), before);
    EXPECT_EQ(answers({"a", "c"}), "a\tmaybe\nc\tabsent\n");
}

TEST_F(RebuildVerbs, AFileSaysSinceWhen) {
    instance.must_ctl({"create", "links", "--capacity", "1000", "--fpr", "1e-6", "--nothing-exists-yet"});
    instance.must_ctl({"add", "links", "a", "before"});
    const auto status = nlohmann::json::parse(operate({"status", "--json"}).output);
    const std::string lsn = status.at("daemon").at("journal").at("next_lsn");
    const std::string dump = file("ids", "a\nb\n");
    instance.must_ctl({"add", "links", "after"});
    const Finished done = operate({"rebuild", "links", dump, "--since", lsn, "--overlap", "0"});
    ASSERT_EQ(done.code, 0) << done.log;
    EXPECT_EQ(answers({"a", "b", "before", "after"}), "a\tmaybe\nb\tmaybe\nbefore\tabsent\nafter\tmaybe\n");
    ASSERT_EQ(operate({"rebuild", "links", dump, "--since", "2h"}).code, 0);
    EXPECT_EQ(answers({"before", "after"}), "before\tmaybe\nafter\tmaybe\n");
}

TEST_F(RebuildVerbs, AnExportedSnapshotIsASource) {
    create_loaded("a\\nb\\n");
    const std::string path = instance.folder() / "links.snapshot";
    ASSERT_EQ(operate({"export", "links", path}).code, 0);
    ASSERT_EQ(rebuild("printf 'b\\nc\\nd\\n'").code, 0);
    const Finished done = operate({"rebuild", "links", "--snapshot", path, "--allow-shrink", "100"});
    ASSERT_EQ(done.code, 0) << done.log;
    EXPECT_EQ(answers({"a", "b", "c"}), "a\tmaybe\nb\tmaybe\nc\tabsent\n");
    EXPECT_EQ(operate({"rebuild", "links", "--snapshot", instance.folder() / "none", "--since", "1h"}).code, 8);
}

TEST_F(RebuildVerbs, ARollbackGoesBackWithEveryAddSince) {
    create_loaded("a\\nb\\nc\\n");
    EXPECT_EQ(operate({"rollback", "links"}).code, 5) << "nothing was replaced yet";
    ASSERT_EQ(rebuild("printf 'b\\nc\\nd\\n'").code, 0);
    EXPECT_NE(object({"status", "links"}, 0)["previous_generation"], nullptr);
    EXPECT_TRUE(says(operate({"status", "links"}).output, "rollback links\n"));
    instance.must_ctl({"add", "links", "since"});
    const Finished back = operate({"rollback", "links"});
    ASSERT_EQ(back.code, 0) << back.log;
    EXPECT_TRUE(says(back.output, "rolled back: links is now generation ")) << back.output;
    EXPECT_EQ(answers({"a", "b", "d", "since"}), "a\tmaybe\nb\tmaybe\nd\tabsent\nsince\tmaybe\n");
}

TEST_F(RebuildVerbs, AUnionKeepsThePresentKeysToo) {
    create_loaded("a\\nb\\nc\\n");
    ASSERT_EQ(rebuild("printf 'b\\nc\\nd\\n'").code, 0);
    const auto json = object({"rollback", "links", "--union"}, 0);
    EXPECT_EQ(json["live"], true);
    EXPECT_EQ(answers({"a", "d"}), "a\tmaybe\nd\tmaybe\n");
}

TEST_F(RebuildVerbs, AGrowableFilterGrowsWithoutASource) {
    create_loaded("a\\nb\\n", {"--growable", "--expansion", "4"});
    const auto json = object({"rebuild", "links", "--capacity", "100k"}, 0);
    EXPECT_EQ(json["switched"], true);
    EXPECT_EQ(json["capacity"], 100'000);
    EXPECT_EQ(answers({"a", "b", "c"}), "a\tmaybe\nb\tmaybe\nc\tabsent\n");
    const auto status = object({"status", "links"}, 0);
    EXPECT_EQ(status["growable"], true);
    EXPECT_EQ(status["expansion"], 4);
    EXPECT_EQ(status["hash_list"], "complete");
    EXPECT_EQ(status["when_full"], "grow");
    instance.must_ctl({"create", "fixed", "--capacity", "1k", "--fpr", "1%", "--nothing-exists-yet"});
    expect_refused(operate({"rebuild", "fixed", "--capacity", "2k"}), "RANGE", "not growable");
}

TEST_F(RebuildVerbs, AFullFilterThatIsToRefuseSaysTheWayOut) {
    instance.must_ctl(
        {"create", "small", "--capacity", "100", "--fpr", "1%", "--nothing-exists-yet", "--when-full", "refuse"});
    EXPECT_EQ(object({"status", "small"}, 0)["when_full"], "refuse");
    std::string keys;
    for (int i = 0; i < 200; ++i)
        keys += std::to_string(i) + "\n";
    operate({"add", "small", "-"}, keys);
    // The daemon estimates how full it is once a second.
    int more = 1000;
    EXPECT_TRUE(eventually([&] { return operate({"add", "small", std::to_string(++more)}).code == 6; }));
    EXPECT_TRUE(says(operate({"status", "small"}).output, "rebuild small --capacity N"));
}

TEST_F(RebuildVerbs, StatusNamesWhoHoldsWhichGeneration) {
    create_loaded("a\\nb\\n");
    const auto holders = object({"status", "links"}, 0);
    ASSERT_EQ(holders["holders"].size(), 1u) << holders.dump();
    EXPECT_EQ(holders["holders"][0]["generation"], generation());
    EXPECT_EQ(holders["pinned_bytes"], 0);
    // A worker that is idle holds what it had mapped.
    Worker worker = instance.worker();
    worker.open("links");
    const std::string before = generation();
    ASSERT_EQ(rebuild("printf 'a\\nb\\nc\\n'").code, 0);
    const auto held = object({"status", "links"}, 0);
    bool found = false;
    for (const auto &each : held["holders"])
        for (const auto &pid : each["pids"])
            found = found || (pid == worker.process().pid() && each["generation"] == before);
    EXPECT_TRUE(found) << held.dump();
    EXPECT_GT(held["pinned_bytes"], 0);
    EXPECT_TRUE(says(operate({"status", "links"}).output, "generation " + before)) << "it is named";
    worker.count("number", 1, 1);
    EXPECT_EQ(object({"status", "links"}, 0)["pinned_bytes"], 0) << "it let go";
}

TEST_F(RebuildVerbs, ASecondRebuildIsRefusedWithWhoAndSinceWhen) {
    create_loaded("a\\nb\\n");
    const std::string tool = std::string{SHMBLOOMCTL_PATH} + " --runtime-dir " + instance.runtime_dir();
    const Finished done = rebuild("printf 'a\\nb\\n'; " + tool + " rebuild links --exec -- echo c >&2; " + tool +
                                  " status links >&2; true");
    EXPECT_EQ(done.code, 0) << done.log;
    EXPECT_TRUE(says(done.log, "shmbloomctl: BUSY: a rebuild of filter 'links' is under way since ")) << done.log;
    EXPECT_TRUE(says(done.log, "begun by pid ")) << done.log;
    EXPECT_TRUE(says(done.log, "rebuild under way for ")) << done.log;
}

} // namespace
} // namespace shmbloom::test
