// shmbloomd --once check: what a start would find, without starting.
#include "kept_filter.h"

namespace shmbloom::test {
namespace {

class Check : public testing::Test {
  protected:
    Check() {
        instance.start();
        links.emplace(instance, "links", KeptFilter::live());
        instance.must_ctl({"snapshot", "links"});
        links->add(10);
        instance.stop(); // takes a second one
    }

    Finished check() {
        return run({TestInstance::daemon_path(), "--runtime-dir", instance.runtime_dir(), "--state-dir",
                    instance.state_dir(), "--once", "check"});
    }
    // Flips a byte of the first file whose path ends so.
    std::string damage(const std::string &ending, std::uintmax_t offset) {
        for (const auto &entry : std::filesystem::recursive_directory_iterator{instance.state_dir()}) {
            const std::string path = entry.path().string();
            if (!entry.is_regular_file() || !path.ends_with(ending))
                continue;
            std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
            file.seekg(static_cast<std::streamoff>(offset));
            const char byte = static_cast<char>(file.get() ^ 1);
            file.seekp(static_cast<std::streamoff>(offset));
            file.put(byte);
            return path;
        }
        return "";
    }

    TestInstance instance;
    std::optional<KeptFilter> links;
};

TEST_F(Check, OfAStateThatIsWhole) {
    const Finished found = check();
    EXPECT_EQ(found.code, 0) << found.output << found.log;
    EXPECT_NE(found.output.find("filter 'links', 2 snapshots:"), std::string::npos) << found.output;
    EXPECT_NE(found.output.find("on is whole"), std::string::npos) << found.output;
    instance.remove_segments();
    const Finished lost = check();
    EXPECT_EQ(lost.code, 0) << lost.output;
    EXPECT_NE(lost.output.find("is restored from snapshot and journal"), std::string::npos) << lost.output;
    instance.start();
    links->expect_goes_on();
}

TEST_F(Check, NamesADamagedSnapshotAndADamagedJournal) {
    const std::string snapshot = damage(".snapshot", 5000);
    const Finished found = check();
    EXPECT_EQ(found.code, 1) << found.output;
    EXPECT_NE(found.output.find(snapshot), std::string::npos) << found.output;
    const std::string journal = damage("journal/1", 4096 + 70);
    const Finished again = check();
    EXPECT_EQ(again.code, 1);
    EXPECT_NE(again.output.find(journal), std::string::npos) << again.output;
    instance.start(); // the segment is there, so nothing is lost
    links->expect_goes_on();
}

TEST_F(Check, ChangesNothing) {
    const std::string before = instance.registry();
    check();
    EXPECT_EQ(instance.registry(), before);
}

} // namespace
} // namespace shmbloom::test
