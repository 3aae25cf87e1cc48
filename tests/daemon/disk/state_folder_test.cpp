#include "disk/state_folder.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "some_registry.h"
#include "sys/os_error.h"
#include "temp_folder.h"

namespace shmbloom {
namespace {

namespace fs = std::filesystem;

template <typename F>
std::string refusal_of(F act) {
    try {
        act();
    } catch (const Refusal &error) {
        return error.what();
    }
    return "";
}

class State : public testing::Test {
  protected:
    void write_seed(const std::string &text) { std::ofstream{path + "/seed"} << text; }

    std::string seed_refusal(const std::string &text) {
        write_seed(text);
        return refusal_of([&] { folder.read_seed(""); });
    }

    const test::TempFolder temp;
    const std::string path = temp / "state";
    const StateFolder folder{path, "test"};
};

TEST_F(State, IsMadeForItsOwnerAlone) {
    EXPECT_TRUE(folder.is_new());
    EXPECT_EQ(fs::status(path).permissions(), fs::perms{0700});
    EXPECT_EQ(fs::status(path + "/lock").permissions(), fs::perms{0600});
    EXPECT_EQ(folder.id(), file_id_at(path));
    EXPECT_FALSE(folder.read_registry());
}

TEST_F(State, IsRefusedToASecondDaemon) {
    EXPECT_NE(refusal_of([&] { StateFolder{path, "second"}; }).find("instance 'test'"), std::string::npos);
}

TEST_F(State, KeepsTheRegistryReadableByItsOwnerAlone) {
    folder.write_registry(some_registry());
    EXPECT_EQ(fs::status(path + "/registry.json").permissions(), fs::perms{0600});
    const auto read = folder.read_registry();
    ASSERT_TRUE(read);
    EXPECT_EQ(encode_registry(*read), encode_registry(some_registry()));
}

TEST_F(State, NamesTheRegistryThatItRefuses) {
    std::ofstream{path + "/registry.json"} << "{}";
    EXPECT_NE(refusal_of([&] { folder.read_registry(); }).find("the registry '" + path + "/registry.json'"),
              std::string::npos);
}

TEST_F(State, StaysTheSameFolderWhenItIsMovedAway) {
    fs::rename(path, temp / "moved");
    fs::create_directory(path);
    folder.write_registry(some_registry());
    EXPECT_TRUE(fs::exists(temp / "moved/registry.json"));
    EXPECT_FALSE(fs::exists(path + "/registry.json"));
}

TEST_F(State, MakesASeedOfRandomBitsForItsOwnerAlone) {
    EXPECT_FALSE(folder.read_seed(""));
    const auto made = folder.make_seed();
    EXPECT_EQ(folder.read_seed(""), made);
    EXPECT_EQ(read_file(path + "/seed"), "shmbloom-seed-1 " + to_hex(made.seed) + " " + to_hex(made.domain) + "\n");
    EXPECT_EQ(fs::status(path + "/seed").permissions(), fs::perms{0600});
    EXPECT_NE(folder.make_seed(), made);
}

TEST_F(State, TakesASeedFileOfTheFleet) {
    const std::string elsewhere = temp / "fleet-seed";
    std::ofstream{elsewhere} << "shmbloom-seed-1 0123456789abcdef fedcba9876543210"; // the line's end may be missing
    const auto seed = folder.read_seed(elsewhere);
    ASSERT_TRUE(seed);
    EXPECT_EQ(seed->seed, 0x0123456789abcdefu);
    EXPECT_EQ(seed->domain, 0xfedcba9876543210u);
    EXPECT_FALSE(fs::exists(path + "/seed"));
}

TEST_F(State, SaysWhichSeedFileIsMissing) {
    const std::string text = refusal_of([&] { folder.read_seed(temp / "none"); });
    EXPECT_EQ(text, "the seed file '" + (temp / "none") +
                        "' does not exist; copy it from the machine that has it, or leave "
                        "--seed-file out and one is made");
}

TEST_F(State, RefusesASeedFileOfAnyOtherForm) {
    const std::string good = "shmbloom-seed-1 0123456789abcdef fedcba9876543210";
    EXPECT_EQ(seed_refusal(good + "\n"), "");
    EXPECT_EQ(seed_refusal(good), "");
    const std::string expected =
        "the seed file '" + path + "/seed' is not one line 'shmbloom-seed-1 <16 hex digits> <16 hex digits>'";
    EXPECT_EQ(seed_refusal(""), expected);
    EXPECT_EQ(seed_refusal("\n"), expected);
    EXPECT_EQ(seed_refusal(good + "\n\n"), expected);
    EXPECT_EQ(seed_refusal(good + " "), expected);
    EXPECT_EQ(seed_refusal(" " + good), expected);
    EXPECT_EQ(seed_refusal(good + "\r\n"), expected);
    EXPECT_EQ(seed_refusal(good + "\n" + good + "\n"), expected);
    EXPECT_EQ(seed_refusal("shmbloom-seed-2 0123456789abcdef fedcba9876543210\n"), expected);
    EXPECT_EQ(seed_refusal("shmbloom-seed-1 0123456789ABCDEF fedcba9876543210\n"), expected);
    EXPECT_EQ(seed_refusal("shmbloom-seed-1 0123456789abcdef\tfedcba9876543210\n"), expected);
    EXPECT_EQ(seed_refusal("shmbloom-seed-1 0123456789abcdeg fedcba9876543210\n"), expected);
    EXPECT_EQ(seed_refusal("shmbloom-seed-1 0123456789abcdef fedcba987654321\n"), expected);
}

TEST_F(State, NeverSaysASeed) {
    EXPECT_EQ(seed_refusal("shmbloom-seed-1 5ec2e75ec2e75ec2 and more").find("5ec2e7"), std::string::npos);
}

TEST(StateOfOthers, IsClosedToThemOrRefused) {
    const test::TempFolder temp;
    fs::permissions(temp.path(), fs::perms{0755});
    {
        const StateFolder folder{temp.path(), "test"};
        EXPECT_FALSE(folder.is_new());
        EXPECT_EQ(fs::status(temp.path()).permissions(), fs::perms{0700});
    }
    if (::geteuid() != 0)
        return; // only root can give a folder away
    ASSERT_EQ(::chown(temp.path().c_str(), 12345, 12345), 0);
    const std::string text = refusal_of([&] { StateFolder{temp.path(), "test"}; });
    EXPECT_EQ(text, "the state folder '" + temp.path() +
                        "' belongs to user 12345, not to this one (0); run as its owner, or chown it");
}

} // namespace
} // namespace shmbloom
