// undrop, export and import against real daemons.
#include <fstream>
#include <iterator>
#include <sstream>

#include "operator.h"

namespace shmbloom::test {
namespace {

std::string read(const std::string &path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
}

std::size_t files_in(const std::string &folder) {
    std::size_t count = 0;
    for (const auto &entry : std::filesystem::directory_iterator{folder})
        count += entry.is_regular_file() ? 1 : 0;
    return count;
}

class Recover : public Operator {
  protected:
    void create_with_keys(const std::string &name, const std::vector<std::string> &more = {"--nothing-exists-yet"}) {
        create(name, more);
        instance.must_ctl({"add", name, "a", "b", "c"});
    }
    // Every key is there; only of a filter that is live.
    void expect_keys(const std::string &name,
                     const std::string &answers = "a\tmaybe\nb\tmaybe\nc\tmaybe\nx\tabsent\n") {
        EXPECT_EQ(operate({"contains", name, "a", "b", "c", "x"}).output, answers);
    }
    void force_live(const std::string &name) { instance.must_ctl({"live", name, "--force-incomplete"}); }
    std::string exported(const std::string &name) {
        const std::string file = instance.folder() / (name + ".snapshot");
        instance.must_ctl({"--state-dir", instance.state_dir(), "export", name, file});
        return file;
    }
};

TEST_F(Recover, UndropBringsTheBitsBackAndSaysLossy) {
    for (const char *durability : {"durable", "memory"}) {
        SCOPED_TRACE(durability);
        create_with_keys("links", {"--nothing-exists-yet", "--durability", durability});
        const auto before = instance.info("links");
        Worker worker = instance.worker();
        worker.open("links");
        instance.must_ctl({"drop", "links", "--yes"});
        EXPECT_EQ(object({"undrop", "links"}, 0).at("doubts"), nlohmann::json::array({"lossy"}))
            << "it waits for the last snapshot";
        const auto after = instance.info("links");
        EXPECT_EQ(after.at("uuid"), before.at("uuid"));
        EXPECT_EQ(after.at("lineage"), before.at("lineage"));
        EXPECT_NE(after.at("generation"), before.at("generation"));
        EXPECT_EQ(after.at("bits_set"), before.at("bits_set"));
        EXPECT_EQ(worker.tell("ask a"), "2") << "the worker of before";
        force_live("links");
        expect_keys("links");
        EXPECT_TRUE(eventually([&] { return worker.tell("ask a") == "1"; }));
        instance.must_ctl({"drop", "links", "--yes"});
    }
    EXPECT_EQ(instance.segment_names(), instance.recorded_segment_names());
}

TEST_F(Recover, UndropKeepsTheDoubtsOfBeforeAndOutlivesAKill) {
    create_with_keys("links", {});
    instance.must_ctl({"pause", "links"});
    instance.must_ctl({"snapshot", "links"});
    instance.must_ctl({"drop", "links", "--yes"});
    instance.kill();
    instance.start();
    instance.must_ctl({"undrop", "links"});
    EXPECT_EQ(doubts("links"), "warming,paused,lossy");
    instance.kill();
    instance.remove_segments();
    instance.start();
    EXPECT_EQ(doubts("links"), "warming,paused,lossy");
    force_live("links");
    instance.must_ctl({"resume", "links"});
    expect_keys("links");
}

TEST_F(Recover, UndropSaysWhatIsKept) {
    EXPECT_TRUE(says(operate({"undrop"}).output, "no dropped filter is kept"));
    create_with_keys("links");
    EXPECT_EQ(object({"undrop", "links"}, 6).at("word"), "EXISTS");
    instance.must_ctl({"drop", "links", "--yes"});
    ASSERT_TRUE(eventually([&] { return says(operate({"undrop"}).output, " ago, 0.04 MiB\n"); }))
        << operate({"undrop"}).output;
    const auto kept = object({"undrop"}, 0).at("kept");
    ASSERT_EQ(kept.size(), 1u);
    EXPECT_EQ(kept[0].at("capacity"), 20'000);
    EXPECT_EQ(kept[0].at("adds_acknowledged"), 3);
    const Finished none = operate({"undrop", "tokens"});
    EXPECT_EQ(none.code, 5);
    EXPECT_TRUE(says(none.log, "kept are 'links'")) << none.log;
    create("links");
    EXPECT_EQ(operate({"undrop", "links"}).code, 6) << "the name is taken";
    instance.must_ctl({"drop", "links", "--yes"});
    instance.must_ctl({"undrop", "links"});
    force_live("links");
    expect_keys("links");
    EXPECT_TRUE(object({"undrop"}, 0).at("kept").empty());
    EXPECT_EQ(operate({"undrop", "links"}).code, 6);
}

TEST_F(Recover, UndropSkipsADamagedSnapshotAndIsRefusedWithoutAGoodOne) {
    create_with_keys("links");
    instance.must_ctl({"snapshot", "links"});
    instance.must_ctl({"snapshot", "links"});
    const std::string folder = instance.state_dir() + "/" + instance.info("links").at("uuid");
    instance.must_ctl({"drop", "links", "--yes"});
    // The drop's own snapshot is the newest of two.
    ASSERT_TRUE(eventually([&] { return operate({"undrop"}).code == 0 && files_in(folder) == 2; }));
    const auto damage = [&](const std::string &path) {
        std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
        file.seekp(5000);
        file.put('\x55');
    };
    std::map<int, std::string> by_number;
    for (const auto &entry : std::filesystem::directory_iterator{folder})
        by_number[std::stoi(entry.path().filename())] = entry.path();
    damage(by_number.rbegin()->second);
    instance.must_ctl({"undrop", "links"});
    force_live("links");
    expect_keys("links");

    instance.must_ctl({"drop", "links", "--yes"});
    ASSERT_TRUE(eventually([&] { return object({"undrop"}, 0).at("kept").size() == 1 && files_in(folder) == 2; }));
    for (const auto &entry : std::filesystem::directory_iterator{folder})
        damage(entry.path());
    const Finished refused = operate({"undrop", "links"});
    EXPECT_EQ(refused.code, 10);
    EXPECT_TRUE(says(refused.log, "fails its checksum")) << refused.log;
    EXPECT_EQ(operate({"status", "links"}).code, 5);
    EXPECT_EQ(instance.segment_names(), std::vector<std::string>{});
}

TEST_F(Recover, ExportCopiesTheNewestSnapshotAndOverwritesNothing) {
    create_with_keys("links", {"--nothing-exists-yet", "--durability", "memory"});
    const std::string file = exported("links");
    const auto number = instance.info("links").at("last_snapshot_number");
    EXPECT_EQ(read(file),
              read(instance.state_dir() + "/" + instance.info("links").at("uuid") + "/" + number + ".snapshot"));
    EXPECT_EQ(object({"export", "links", file}, 6).at("word"), "EXISTS");
    EXPECT_EQ(operate({"export", "none", file + ".2"}).code, 5);
    EXPECT_EQ(operate({"export", "links", "/nowhere/file"}).code, 8);
    const Finished elsewhere = run({SHMBLOOMCTL_PATH, "--runtime-dir", instance.runtime_dir(), "--state-dir",
                                    "/nowhere", "export", "links", file + ".2"});
    EXPECT_EQ(elsewhere.code, 4) << elsewhere.log;
}

TEST_F(Recover, ImportMakesAFilterOfTheGeometryInTheFile) {
    create_with_keys("links", {"--nothing-exists-yet", "--normalize", "trim,lower", "--layout", "classic"});
    const std::string file = exported("links");
    const auto imported = object({"import", "copy", file}, 0);
    EXPECT_EQ(imported.at("doubts"), nlohmann::json::array({"warming"}));
    EXPECT_EQ(imported.at("estimated_keys"), 3);
    const auto links = instance.info("links"), copy = instance.info("copy");
    for (const char *same :
         {"layout", "capacity", "fpr", "bits", "probes", "hash_domain", "normalize", "key_type", "bits_set"})
        EXPECT_EQ(links.at(same), copy.at(same)) << same;
    EXPECT_NE(links.at("uuid"), copy.at("uuid"));
    EXPECT_EQ(copy.at("snapshots"), "1") << "acknowledged with a full snapshot";
    EXPECT_EQ(files_in(instance.state_dir() + "/import"), 0u);
    instance.must_ctl({"live", "copy", "--expect-at-least", "3"});
    expect_keys("copy");
    instance.kill();
    instance.remove_segments();
    instance.start();
    EXPECT_EQ(doubts("copy"), "");
    expect_keys("copy");
}

TEST_F(Recover, ImportIntoAFilterAddsItsBits) {
    create_with_keys("links");
    const std::string file = exported("links");
    create("other");
    instance.must_ctl({"add", "other", "x"});
    object({"import", "other", file}, 0);
    EXPECT_EQ(doubts("other"), "");
    expect_keys("other", "a\tmaybe\nb\tmaybe\nc\tmaybe\nx\tmaybe\n");
    instance.kill();
    instance.remove_segments();
    instance.start();
    EXPECT_EQ(doubts("other"), "") << "the snapshot holds it";
    expect_keys("other", "a\tmaybe\nb\tmaybe\nc\tmaybe\nx\tmaybe\n");
}

TEST_F(Recover, ImportIsRefusedWhenTheBitsWouldMeanSomethingElse) {
    create_with_keys("links");
    const std::string file = exported("links");
    instance.must_ctl({"create", "large", "--capacity", "50k", "--fpr", "1e-3"});
    const Finished geometry = operate({"import", "large", file});
    EXPECT_EQ(geometry.code, 6);
    EXPECT_TRUE(says(geometry.log, "against blocked, 2 probes")) << geometry.log;
    create("lower", {"--normalize", "lower"});
    const Finished domain = operate({"import", "lower", file});
    EXPECT_EQ(domain.code, 6);
    EXPECT_TRUE(says(domain.log, instance.info("links").at("hash_domain"))) << domain.log;
    EXPECT_TRUE(says(domain.log, instance.info("lower").at("hash_domain"))) << domain.log;
    TestInstance other; // with another seed
    other.start();
    EXPECT_EQ(other.ctl({"--state-dir", other.state_dir(), "import", "links", file}).code, 6);

    std::string text = read(file);
    text[6000] = static_cast<char>(text[6000] ^ 1);
    const std::string damaged = instance.folder() / "damaged";
    std::ofstream{damaged, std::ios::binary} << text;
    EXPECT_EQ(operate({"import", "fresh", damaged}).code, 10);
    EXPECT_EQ(instance.info("fresh").size(), 0u);
    std::ofstream{damaged, std::ios::binary} << "no snapshot";
    EXPECT_EQ(operate({"import", "fresh", damaged}).code, 6);
    EXPECT_EQ(operate({"import", "fresh", "/nowhere"}).code, 8);
    EXPECT_EQ(files_in(instance.state_dir() + "/import"), 0u);
    EXPECT_EQ(instance.wire().call({"SB.IMPORT", "fresh", "../seed"}).word(), "RANGE");
}

} // namespace
} // namespace shmbloom::test
