// create --durability, snapshot, load --all, and what status and explain say of the journal, against a real daemon.
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "operator.h"

namespace shmbloom::test {
namespace {

class JournalVerbs : public Operator {
  protected:
    nlohmann::json status(const std::string &name) const {
        return nlohmann::json::parse(operate({"status", name, "--json"}).output);
    }
};

TEST_F(JournalVerbs, CreateTakesADurabilityAndStatusSaysWhatItMeans) {
    const std::pair<const char *, const char *> means[] = {
        {"durable", "durable: acknowledged adds outlive a power loss"},
        {"logged", "durability: logged (synced every second)"},
        {"memory", "durability: memory (adds outlive the daemon, not a restart of the machine)"}};
    for (const auto &[durability, text] : means) {
        SCOPED_TRACE(durability);
        create(durability, {"--nothing-exists-yet", "--durability", durability});
        EXPECT_EQ(status(durability).at("durability"), durability);
        std::string shown = operate({"status", durability}).output;
        for (std::size_t at; (at = shown.find("\n          ")) != std::string::npos;)
            shown.replace(at, 11, " ");
        EXPECT_TRUE(says(shown, text)) << shown;
    }
    create("usual");
    EXPECT_EQ(status("usual").at("durability"), "durable");
    EXPECT_EQ(operate({"create", "x", "--capacity", "1k", "--fpr", "1%", "--durability", "safe"}).code, 3);
}

TEST_F(JournalVerbs, SnapshotEndsWhenItIsOnTheDisk) {
    create("links");
    create("tokens", {"--nothing-exists-yet", "--durability", "memory"});
    instance.must_ctl({"add", "links", "a", "b", "c"});
    EXPECT_EQ(status("links").at("snapshots"), 0);
    EXPECT_TRUE(status("links").at("last_snapshot").is_null());
    EXPECT_EQ(status("links").at("hashes_since_snapshot"), 3);

    const auto taken = object({"snapshot", "links"}, 0).at("snapshots");
    ASSERT_EQ(taken.size(), 1u);
    EXPECT_EQ(taken[0].at("name"), "links");
    const std::string file = instance.state_dir() + "/" + status("links").at("uuid").get<std::string>() + "/" +
                             std::to_string(taken[0].at("number").get<int>()) + ".snapshot";
    EXPECT_EQ(std::filesystem::file_size(file), taken[0].at("bytes"));
    EXPECT_EQ(status("links").at("snapshots"), 1);
    EXPECT_GT(status("links").at("last_snapshot"), 1'000'000'000);
    EXPECT_EQ(status("links").at("hashes_since_snapshot"), 0);

    EXPECT_EQ(object({"snapshot", "--all"}, 0).at("snapshots").size(), 2u);
    EXPECT_TRUE(operate({"snapshot", "tokens"}).output.starts_with("snapshot "));
    EXPECT_EQ(object({"snapshot", "none"}, 5).at("word"), "NOTFOUND");
    EXPECT_EQ(operate({"snapshot"}).code, 3);
    EXPECT_EQ(operate({"snapshot", "links", "--all"}).code, 3);
    instance.kill();
    EXPECT_EQ(operate({"snapshot", "links"}).code, 4);
}

TEST_F(JournalVerbs, StatusShowsTheJournalWhileTheDaemonAnswers) {
    create("links");
    instance.must_ctl({"add", "links", "a", "b", "c"});
    const Finished shown = operate({"status"});
    EXPECT_TRUE(says(shown.output, " in 1 file, kept 60 min; recovery about 0.0 s\n")) << shown.output;
    const auto journal = object({"status"}, 0).at("daemon").at("journal");
    EXPECT_EQ(journal.at("next_lsn"), "4");
    EXPECT_EQ(journal.at("durable_lsn"), "4");
    EXPECT_EQ(journal.at("journal_files"), 1);
    EXPECT_GT(journal.at("journal_bytes"), 0);
    EXPECT_EQ(journal.at("journal_limit_bytes"), std::uint64_t{4} << 30);
    EXPECT_EQ(journal.at("journal_retention_s"), 3600);
    EXPECT_LT(journal.at("journal_oldest_s"), 3600);
    EXPECT_TRUE(journal.at("degraded").is_null());
    EXPECT_TRUE(journal.at("journal_error").is_null());
    EXPECT_EQ(journal.at("snapshots_running"), 0);
    EXPECT_GE(journal.at("expected_recovery_seconds"), 0);
    EXPECT_TRUE(says(journal.at("last_start"), "journal: 0 files")) << journal;
    EXPECT_GE(journal.at("last_start_ms"), 0);

    instance.stop();
    const auto dead = object({"status"}, 4);
    EXPECT_TRUE(dead.at("daemon").at("journal").is_null());
    EXPECT_TRUE(dead.at("filters").at(0).at("snapshots").is_null());
    EXPECT_FALSE(says(operate({"status"}).output, "recovery")) << "nobody knows";
}

TEST_F(JournalVerbs, LoadAllDoubtedRunsTheCommandOnceForEach) {
    create("warm", {});
    create("live");
    create("lost", {"--nothing-exists-yet", "--durability", "memory"});
    instance.kill();
    std::filesystem::remove("/dev/shm/" + instance.segment_of("lost"));
    instance.start();
    const std::string seen = instance.folder() / "seen";
    const std::vector<std::string> command{"--exec", "--", "sh", "-c",
                                           "echo $SHMBLOOM_FILTER $SHMBLOOM_DOUBTS [$SHMBLOOM_SINCE] >> " + seen +
                                               "; test $SHMBLOOM_FILTER != \"$BAD\" && seq 5"};
    const auto all = [&](std::vector<std::string> words) {
        words.insert(words.end(), command.begin(), command.end());
        return words;
    };
    const auto seen_now = [&] {
        std::ifstream file{seen};
        const std::string text{std::istreambuf_iterator<char>{file}, {}};
        std::filesystem::remove(seen);
        return text;
    };
    EXPECT_EQ(object(all({"load", "--all-doubted"}), 6).at("filters").size(), 2u) << "lossy waits for its overlap";
    EXPECT_EQ(seen_now(), "warm warming []\n") << "refused before its command ran";
    EXPECT_EQ(doubts("warm"), "");
    EXPECT_EQ(doubts("lost"), "lossy");
    const auto loaded = object(all({"load", "--all-doubted", "--overlap", "0"}), 0).at("filters");
    ASSERT_EQ(loaded.size(), 1u);
    EXPECT_EQ(loaded[0].at("name"), "lost");
    EXPECT_EQ(loaded[0].at("live"), true);
    EXPECT_EQ(seen_now(), "lost lossy []\n");
    EXPECT_TRUE(says(operate(all({"load", "--all-doubted"})).output, "no filter has a doubt"));
    EXPECT_EQ(operate(all({"load", "--all"})).code, 0);
    EXPECT_EQ(seen_now(), "live []\nlost []\nwarm []\n");
    instance.must_ctl({"pause", "live"});
    ::setenv("BAD", "live", 1);
    const Finished one_bad = operate(all({"load", "--all"}));
    ::unsetenv("BAD");
    EXPECT_EQ(one_bad.code, 8) << "the highest";
    EXPECT_TRUE(says(one_bad.log, "SOURCEFAILED")) << one_bad.log;
    EXPECT_EQ(seen_now(), "live paused []\nlost []\nwarm []\n") << "the others are loaded all the same";
}

TEST_F(JournalVerbs, ExplainSaysWhetherTheJournalHoldsTheKey) {
    create("links");
    create("tokens", {"--nothing-exists-yet", "--durability", "memory"});
    instance.must_ctl({"add", "links", "a"});
    instance.must_ctl({"add", "links", "b"});
    instance.must_ctl({"add", "links", "a"});
    instance.must_ctl({"add", "tokens", "x"});
    const auto held = object({"explain", "links", "a"}, 0);
    EXPECT_EQ(held.at("journal_searched"), true);
    EXPECT_EQ(held.at("journal").at("lsn"), "3") << "the newest";
    EXPECT_EQ(held.at("journal").at("synced"), true);
    EXPECT_GT(held.at("journal").at("time"), 1'000'000'000);
    EXPECT_TRUE(says(operate({"explain", "links", "b"}).output, "journal      holds its hash: LSN 2, added 2"));
    EXPECT_TRUE(object({"explain", "links", "x"}, 1).at("journal").is_null()) << "another filter's";
    EXPECT_TRUE(says(operate({"explain", "links", "x"}).output, "journal      does not hold its hash"));
    EXPECT_EQ(object({"explain", "tokens", "x"}, 0).at("journal_searched"), false);
    instance.kill();
    instance.start();
    EXPECT_EQ(object({"explain", "links", "a"}, 0).at("journal").at("lsn"), "3") << "in a file of before";
    instance.stop();
    EXPECT_TRUE(says(operate({"explain", "links", "a"}).output, "journal      not searched: "));
}

} // namespace
} // namespace shmbloom::test
