// Opening: names, options, where control is looked for, and what a failing open tells.
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"
#include "world.h"

namespace shmbloom::test {
namespace {

int open_with(shmbloom_options options) {
    shmbloom_filter *f = nullptr;
    const int r = shmbloom_open(&f, "links", &options);
    shmbloom_close(f);
    return r;
}

class Open : public testing::Test {
  protected:
    World world;
    Filter &filter = world.create("links");
    std::string text;
};

TEST_F(Open, TakesNamesOfOneToSixtyFourAllowedCharacters) {
    for (const std::string &name : {std::string{"AZaz09._:-"}, std::string(64, 'x')}) {
        world.create(name);
        EXPECT_EQ(open_error(world, name), 0) << name;
    }
    for (const std::string &name : {std::string{}, std::string(65, 'x'), std::string{"a b"}, std::string{"a/b"},
                                    std::string{"\xc3\xa4"}, std::string(100000, 'x')})
        EXPECT_EQ(open_error(world, name, &text), -EINVAL) << name;
    EXPECT_NE(text.find("1 to 64 of"), std::string::npos) << text;
    shmbloom_filter *f = nullptr;
    EXPECT_EQ(shmbloom_open(&f, nullptr, nullptr), -EINVAL);
    EXPECT_EQ(shmbloom_open(nullptr, "links", nullptr), -EINVAL);
}

TEST_F(Open, RefusesUnknownFlagsAndTimeouts) {
    shmbloom_options options = options_for(world);
    for (const std::uint32_t flags : {4u, 1u << 31, 7u}) {
        options.flags = flags;
        EXPECT_EQ(open_with(options), -EINVAL);
    }
    for (const std::int32_t timeout_ms : {-2, 86400001, INT32_MIN}) {
        options = options_for(world);
        options.add_timeout_ms = timeout_ms;
        EXPECT_EQ(open_with(options), -EINVAL) << timeout_ms;
    }
    options.add_timeout_ms = 86400000;
    EXPECT_EQ(open_with(options), 0);
}

TEST_F(Open, RefusesStructsThatAreTooSmallOrSayNothing) {
    shmbloom_options options = options_for(world);
    for (const std::uint32_t size : {0u, 4u, 8u, 47u, 1u << 30}) {
        options.struct_size = size;
        EXPECT_EQ(open_with(options), -EINVAL) << size;
    }
}

struct LaterOptions {
    shmbloom_options options;
    std::uint64_t later[4];
};

TEST_F(Open, TakesALargerStructWhoseTailIsZero) {
    LaterOptions later{options_for(world), {}};
    later.options.struct_size = sizeof later;
    shmbloom_filter *f = nullptr;
    EXPECT_EQ(shmbloom_open(&f, "links", &later.options), 0);
    f = shmbloom_close(f);
    later.later[3] = 1ull << 63;
    EXPECT_EQ(shmbloom_open(&f, "links", &later.options), -EINVAL);
    EXPECT_EQ(f, nullptr);
}

struct LaterInfo {
    shmbloom_info info;
    std::uint64_t later[4];
};

TEST_F(Open, InfoFollowsTheSameRulesOfSize) {
    const Handle handle = open(world, "links");
    LaterInfo later{};
    EXPECT_EQ(shmbloom_get_info(handle.get(), &later.info), -EINVAL);
    later.info.struct_size = sizeof(shmbloom_info) - 1;
    EXPECT_EQ(shmbloom_get_info(handle.get(), &later.info), -EINVAL);
    later.info.struct_size = sizeof later;
    EXPECT_EQ(shmbloom_get_info(handle.get(), &later.info), 0);
    EXPECT_EQ(later.info.struct_size, sizeof later);
    EXPECT_STREQ(later.info.name, "links");
    later.later[0] = 1;
    EXPECT_EQ(shmbloom_get_info(handle.get(), &later.info), -EINVAL);
    EXPECT_EQ(shmbloom_get_info(nullptr, &later.info), -EINVAL);
    EXPECT_EQ(shmbloom_get_info(handle.get(), nullptr), -EINVAL);
}

TEST_F(Open, TakesInstancesOfOneToThirtyTwoAllowedCharacters) {
    shmbloom_options options = options_for(world);
    for (const char *instance : {"", "a.b", "a/b", "..", "123456789012345678901234567890123"}) {
        options.instance = instance;
        EXPECT_EQ(open_with(options), -EINVAL) << instance;
    }
    options.instance = "12345678901234567890123456789012";
    EXPECT_EQ(open_with(options), 0);
}

TEST_F(Open, OfAMissingFilterNamesItAndTheFolder) {
    EXPECT_EQ(open_error(world, "nothing", &text), -ENOENT);
    EXPECT_NE(text.find("'nothing' in " + world.folder()), std::string::npos) << text;
}

TEST_F(Open, WithoutControlNamesTheFolder) {
    world.remove_control();
    EXPECT_EQ(open_error(world, "links", &text), -ENXIO);
    EXPECT_NE(text.find(world.folder()), std::string::npos) << text;
}

TEST_F(Open, OfAMissingFolderIsNoDaemon) {
    shmbloom_options options = options_for(world);
    const std::string folder = world.folder() + "/not/there";
    options.runtime_dir = folder.c_str();
    EXPECT_EQ(open_with(options), -ENXIO);
    options.runtime_dir = "not-there-either";
    EXPECT_EQ(open_with(options), -ENXIO);
}

TEST_F(Open, TakesFoldersThatAreRelativeAndNoneThatAreTooLong) {
    shmbloom_options options = options_for(world);
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(world.folder());
    options.runtime_dir = ".";
    shmbloom_filter *f = nullptr;
    EXPECT_EQ(shmbloom_open(&f, "links", &options), 0);
    std::filesystem::current_path(before);
    EXPECT_STREQ(shmbloom__runtime_dir(f), world.folder().c_str());
    shmbloom_close(f);
    const std::string folder = "/" + std::string(300, 'x');
    options.runtime_dir = folder.c_str();
    EXPECT_EQ(open_with(options), -EINVAL);
    options.runtime_dir = "";
    EXPECT_EQ(open_with(options), -EINVAL);
}

TEST_F(Open, WithoutPermissionNamesTheGroupToJoin) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root to become somebody else";
    ASSERT_EQ(::chmod(world.folder().c_str(), 0750), 0);
    ASSERT_EQ(::chown(world.folder().c_str(), 0, 4), 0); // group adm
    EXPECT_EQ(in_child([&] {
                  if (::setgid(65534) != 0 || ::setuid(65534) != 0)
                      return 1;
                  const int r = open_error(world, "links", &text);
                  return r == -EACCES && text.find("join group 'adm'") != std::string::npos ? 42 : -r;
              }),
              42);
    // The folder may be entered, control may not be read.
    ASSERT_EQ(::chmod(world.folder().c_str(), 0755), 0);
    ASSERT_EQ(::chmod(world.control_path().c_str(), 0600), 0);
    EXPECT_EQ(in_child([&] {
                  if (::setgid(65534) != 0 || ::setuid(65534) != 0)
                      return 1;
                  return open_error(world, "links") == -EACCES ? 42 : 0;
              }),
              42);
    // Control may be read, the segment may not.
    ASSERT_EQ(::chmod(world.control_path().c_str(), 0644), 0);
    EXPECT_EQ(in_child([&] {
                  if (::setgid(65534) != 0 || ::setuid(65534) != 0)
                      return 1;
                  return open_error(world, "links") == -EACCES ? 42 : 0;
              }),
              42);
}

TEST_F(Open, TellsNothingIntoNoText) {
    shmbloom_options options = options_for(world);
    std::array<char, 4> tiny{'x', 'x', 'x', 'x'};
    options.flags = 4;
    options.error_text = tiny.data();
    EXPECT_EQ(open_with(options), -EINVAL);
    EXPECT_EQ(tiny[0], 'x');
    options.error_text_size = 3;
    EXPECT_EQ(open_with(options), -EINVAL);
    EXPECT_EQ(tiny[2], '\0');
    EXPECT_EQ(tiny[3], 'x');
}

// ---- Where control is looked for: in a child each, since it is the environment that decides. ----

class Search : public Open {
  protected:
    // As <base>/shmbloom/<instance>, where $XDG_RUNTIME_DIR would have it.
    Search() {
        std::filesystem::create_directories(base + "/shmbloom");
        ::chmod((base + "/shmbloom").c_str(), 0755);
        std::filesystem::rename(world.folder(), base + "/shmbloom/" + instance);
        std::filesystem::create_directory_symlink(base + "/shmbloom/" + instance, world.folder());
    }
    ~Search() override {
        std::filesystem::remove(world.folder());
        std::filesystem::rename(base + "/shmbloom/" + instance, world.folder());
        std::filesystem::remove_all(base);
    }

    // 0 or the errno of an open that is given `name`=`value` and this instance.
    int open_in_environment(const char *name, const std::string &value) {
        return in_child([&] {
            ::setenv(name, value.c_str(), 1);
            shmbloom_options options{};
            options.struct_size = sizeof options;
            options.instance = instance.c_str();
            return -open_with(options);
        });
    }

    std::string instance = "test" + std::to_string(::getpid());
    std::string base = "/tmp/shmbloom-base-" + std::to_string(::getpid());
};

TEST_F(Search, FindsTheFolderUnderTheUsersRuntimeFolder) {
    EXPECT_EQ(open_in_environment("XDG_RUNTIME_DIR", base), 0);
    EXPECT_EQ(open_in_environment("XDG_RUNTIME_DIR", "tmp"), ENXIO);
    EXPECT_EQ(open_in_environment("OTHER", base), ENXIO);
}

TEST_F(Search, TakesTheFolderOfTheEnvironmentWhoeverMadeIt) {
    EXPECT_EQ(open_in_environment("SHMBLOOM_RUNTIME_DIR", base + "/shmbloom/" + instance), 0);
    EXPECT_EQ(open_in_environment("SHMBLOOM_RUNTIME_DIR", base), ENXIO);
}

TEST_F(Search, PassesAFolderByThatOthersCouldHaveMade) {
    ASSERT_EQ(::chmod((base + "/shmbloom").c_str(), 0777), 0);
    EXPECT_EQ(open_in_environment("XDG_RUNTIME_DIR", base), EPERM);
}

TEST_F(Search, PassesAFolderOfSomebodyElseBy) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root to give a folder away";
    const std::string folder = base + "/shmbloom/" + instance;
    ASSERT_EQ(::chown(folder.c_str(), 12345, 12345), 0);
    EXPECT_EQ(open_in_environment("XDG_RUNTIME_DIR", base), EPERM);
    // Named by the caller it may be anybody's.
    EXPECT_EQ(open_in_environment("SHMBLOOM_RUNTIME_DIR", folder), 0);
}

TEST_F(Search, PassesASymbolicLinkBy) {
    const std::string folder = base + "/shmbloom/" + instance;
    std::filesystem::rename(folder, base + "/elsewhere");
    std::filesystem::create_directory_symlink(base + "/elsewhere", folder);
    EXPECT_EQ(open_in_environment("XDG_RUNTIME_DIR", base), EPERM);
    std::filesystem::remove(folder);
    std::filesystem::rename(base + "/elsewhere", folder);
}

TEST_F(Search, EndsWhereItMayNotLook) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root to become somebody else";
    // A daemon may be there: going on could end at another one, whose "absent" would be wrong.
    ASSERT_EQ(::chmod((base + "/shmbloom/" + instance).c_str(), 0750), 0);
    EXPECT_EQ(in_child([&] {
                  if (::setgid(65534) != 0 || ::setuid(65534) != 0)
                      return 1;
                  return open_in_environment("XDG_RUNTIME_DIR", base);
              }),
              EACCES);
}

TEST_F(Search, ListsEveryPlaceItTried) {
    world.control()->boot_id[0] ^= 1;
    EXPECT_EQ(in_child([&] {
                  ::setenv("XDG_RUNTIME_DIR", base.c_str(), 1);
                  ::setenv("SHMBLOOM_INSTANCE", instance.c_str(), 1);
                  shmbloom_options options{};
                  char line[512] = "";
                  options.struct_size = sizeof options;
                  options.error_text = line;
                  options.error_text_size = sizeof line;
                  shmbloom_filter *f = nullptr;
                  const int r = shmbloom_open(&f, "links", &options);
                  const std::string uid = std::to_string(::geteuid());
                  const std::string tried = "/run/shmbloom/" + instance + ", " + base + "/shmbloom/" + instance +
                                            ", /tmp/shmbloom-" + uid + "/" + instance;
                  return r == -ENXIO && std::strstr(line, tried.c_str()) != nullptr ? 42 : 0;
              }),
              42);
}

// ---- List ----

int collect(void *context, const char *name) {
    static_cast<std::vector<std::string> *>(context)->push_back(name);
    return 0;
}

TEST_F(Open, ListGivesTheNamesOfAllFilters) {
    const std::string longest(64, 'x');
    world.create(longest, {}, 1000);
    world.drop(world.create("dropped"));
    std::vector<std::string> names;
    std::uint64_t age_ms = 0;
    char folder[256];
    shmbloom_options options = options_for(world);
    ASSERT_EQ(shmbloom__list(&options, collect, &names, &age_ms, folder, sizeof folder), 0);
    EXPECT_EQ(names, (std::vector<std::string>{"links", longest}));
    EXPECT_EQ(age_ms, SHMBLOOM_UNKNOWN);
    EXPECT_EQ(folder, world.folder());
    shmbloom__daemon daemon{};
    names.clear();
    ASSERT_EQ(shmbloom__list_of(&options, collect, &names, &daemon), 0);
    EXPECT_EQ(names.size(), 2u);
    EXPECT_EQ(daemon.pid, 4711u);
    EXPECT_EQ(daemon.heartbeat_age_ms, SHMBLOOM_UNKNOWN);
    EXPECT_EQ(daemon.runtime_dir, world.folder());
    world.remove_control();
    EXPECT_EQ(shmbloom__list(&options, collect, &names, &age_ms, folder, sizeof folder), -ENXIO);
}

} // namespace
} // namespace shmbloom::test
