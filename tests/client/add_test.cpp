// Adds: what goes over the wire, which answers count, and what every failure of the daemon becomes.
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <gtest/gtest.h>
#include <mutex>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fake_daemon.h"
#include "internal.h"

namespace shmbloom::test {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

int add(const Handle &handle, std::string_view key) {
    return shmbloom_add(handle.get(), key.data(), key.size());
}

milliseconds time_of(const std::function<void()> &run) {
    const auto begin = Clock::now();
    run();
    return std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
}

// An event that a scene waits for.
class Event {
  public:
    void set() {
        const std::lock_guard lock{mutex_};
        set_ = true;
        changed_.notify_all();
    }
    void wait() {
        std::unique_lock lock{mutex_};
        changed_.wait_for(lock, std::chrono::seconds{20}, [this] { return set_; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool set_ = false;
};

class Add : public testing::Test {
  protected:
    World world;
    Filter &filter = world.create("links", {.domain = 0xABCDEF});
    const std::uint8_t *uuid() { return world.control()->control_uuid; }
};

TEST_F(Add, ReturnsTheAnswerOfTheDaemon) {
    FakeDaemon daemon{world, good_daemon(world, {0, 1, 2})};
    const Handle handle = open(world, "links");
    EXPECT_EQ(add(handle, "a"), SHMBLOOM_ABSENT);
    EXPECT_EQ(add(handle, "a"), SHMBLOOM_MAYBE);
    EXPECT_EQ(add(handle, "a"), SHMBLOOM_UNVERIFIED);
    EXPECT_EQ(daemon.connections(), 1);
}

TEST_F(Add, SendsNameHashDomainAndHash) {
    Command seen;
    FakeDaemon daemon{world, [&](Session &session, int) {
                          session.hello(uuid());
                          seen = session.next().value_or(Command{});
                          session.answer(0);
                      }};
    EXPECT_EQ(add(open(world, "links"), "some key"), SHMBLOOM_ABSENT);
    const std::uint64_t hash = shmbloom_hash_bytes("some key", 8, 0, filter.spec.seed);
    const std::string bytes{reinterpret_cast<const char *>(&hash), 8};
    EXPECT_EQ(seen, (Command{"SB.ADDH", "links", "0000000000abcdee", bytes})); // domain xor hash id 1
}

TEST_F(Add, WorksWhileTheFilterIsInDoubt) {
    world.set_doubts(filter, SHMBLOOM_DOUBT_WARMING | SHMBLOOM_DOUBT_LOSSY);
    FakeDaemon daemon{world, good_daemon(world, {2})};
    EXPECT_EQ(add(open(world, "links"), "a"), SHMBLOOM_UNVERIFIED);
}

TEST_F(Add, TakesNumbersOnlyWhereTheKeyTypeIsU64) {
    world.create("numbers", {.key_type = SHMBLOOM_KEY_TYPE_U64});
    FakeDaemon daemon{world, good_daemon(world, {0})};
    const Handle numbers = open(world, "numbers");
    const Handle links = open(world, "links");
    EXPECT_EQ(shmbloom_add_u64(numbers.get(), 42), SHMBLOOM_ABSENT);
    EXPECT_EQ(add(numbers, "42"), -EPROTOTYPE);
    EXPECT_EQ(shmbloom_add_u64(links.get(), 42), -EPROTOTYPE);
}

TEST_F(Add, RefusesKeysAboveOneMebibyteAndBadArguments) {
    const Handle handle = open(world, "links");
    EXPECT_EQ(add(handle, std::string((1 << 20) + 1, 'x')), -E2BIG);
    EXPECT_EQ(shmbloom_add(nullptr, "x", 1), -EINVAL);
    EXPECT_EQ(shmbloom_add_u64(nullptr, 1), -EINVAL);
    EXPECT_EQ(shmbloom_add(handle.get(), nullptr, 1), -EINVAL);
}

TEST_F(Add, OfADroppedFilterIsNotThere) {
    FakeDaemon daemon{world, good_daemon(world, {0})};
    const Handle handle = open(world, "links");
    world.drop(filter);
    EXPECT_EQ(add(handle, "x"), -ENOENT);
    EXPECT_EQ(daemon.connections(), 0);
}

TEST_F(Add, TurnsTheWordsOfErrorsIntoNumbers) {
    const std::vector<std::pair<std::string, int>> words = {{"NOTFOUND no filter", -ENOENT},
                                                            {"EXISTS x", -EEXIST},
                                                            {"NOMEM x", -ENOMEM},
                                                            {"RANGE x", -ERANGE},
                                                            {"NOPERM x", -EPERM},
                                                            {"BUSY", -EBUSY},
                                                            {"TYPE x", -EPROTOTYPE},
                                                            {"NOSPC x", -ENOSPC},
                                                            {"IO x", -EIO},
                                                            {"ERR x", -EPROTO},
                                                            {"SOMETHING new", -EPROTO},
                                                            {"", -EPROTO}};
    FakeDaemon daemon{world, [&](Session &session, int) {
                          session.hello(uuid());
                          for (const auto &[word, error] : words) {
                              session.next();
                              session.send("-" + word + "\r\n");
                          }
                          session.next();
                          session.answer(0);
                      }};
    const Handle handle = open(world, "links");
    for (const auto &[word, error] : words)
        EXPECT_EQ(add(handle, "x"), error) << word;
    // A refusal leaves the connection as it is, and says nothing against the answer of the next add.
    EXPECT_EQ(add(handle, "x"), SHMBLOOM_ABSENT);
    EXPECT_EQ(daemon.connections(), 1);
}

class Garbage : public Add, public testing::WithParamInterface<std::string> {};

TEST_P(Garbage, IsAProtocolErrorAndClosesTheConnection) {
    FakeDaemon daemon{world, [&](Session &session, int number) {
                          session.hello(uuid());
                          session.next();
                          if (number == 0) {
                              session.send(GetParam());
                              EXPECT_FALSE(session.next());
                          } else {
                              session.answer(0);
                          }
                      }};
    const Handle handle = open(world, "links");
    EXPECT_EQ(add(handle, "x"), -EPROTO);
    EXPECT_EQ(add(handle, "x"), SHMBLOOM_ABSENT);
    EXPECT_EQ(daemon.connections(), 2);
}

INSTANTIATE_TEST_SUITE_P(Add, Garbage,
                         testing::Values("garbage\r\n", "\n", "\r\n", "+OK\r\n", ":1\r\n", "$-1\r\n", "*0\r\n",
                                         "$0\r\n\r\n", std::string{"$2\r\n\0\0\r\n", 8}, "$1\r\n\3\r\n", "$1\r\n1xx",
                                         "$-2\r\n", "$x\r\n", "$\r\n", "$99999999999999999999\r\n", "$1048577\r\n",
                                         "*-1\r\n", std::string(70000, 'x') + "\r\n"));

TEST_F(Add, AnswersOnlyFromAWholeReply) {
    FakeDaemon daemon{world, [&](Session &session, int) {
                          session.hello(uuid());
                          session.next();
                          for (const char c : std::string{"$1\r\n\1\r\n"})
                              session.send(std::string(1, c));
                          session.next();
                      }};
    EXPECT_EQ(add(open(world, "links"), "x"), SHMBLOOM_MAYBE);
}

TEST_F(Add, EndsAtItsTimeout) {
    Event end;
    FakeDaemon daemon{world, [&](Session &session, int) {
                          session.hello(uuid());
                          session.next();
                          end.wait();
                      }};
    const Handle handle = open(world, "links", 100);
    int r = 0;
    const auto passed = time_of([&] { r = add(handle, "x"); });
    EXPECT_EQ(r, -ETIMEDOUT);
    EXPECT_GE(passed, milliseconds{100});
    EXPECT_LE(passed, milliseconds{2000});
    end.set();
}

TEST_F(Add, IsNeverAnsweredByALateReply) {
    Event late, told;
    FakeDaemon daemon{world, [&](Session &session, int number) {
                          session.hello(uuid());
                          session.next();
                          if (number == 0) {
                              late.wait();
                              session.answer(0); // speaks of the first add
                              told.set();
                          } else {
                              told.wait();
                              session.answer(1);
                          }
                      }};
    const Handle handle = open(world, "links", 200);
    EXPECT_EQ(add(handle, "first"), -ETIMEDOUT);
    late.set();
    EXPECT_EQ(add(handle, "second"), SHMBLOOM_MAYBE);
}

TEST_F(Add, EndsAtItsTimeoutAgainstAFullBacklog) {
    const int listener = listen_at(world.folder(), 0);
    std::vector<int> waiting;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", world.folder().c_str());
    for (;;) {
        const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        waiting.push_back(fd);
        if (::connect(fd, reinterpret_cast<const sockaddr *>(&address), sizeof address) != 0)
            break;
    }
    const Handle handle = open(world, "links", 150);
    int r = 0;
    const auto passed = time_of([&] { r = add(handle, "x"); });
    EXPECT_EQ(r, -ETIMEDOUT);
    EXPECT_GE(passed, milliseconds{150});
    for (const int fd : waiting)
        ::close(fd);
    ::close(listener);
}

TEST_F(Add, WithoutADaemonSaysSoAfterItsTimeout) {
    const Handle handle = open(world, "links", 50);
    EXPECT_EQ(add(handle, "x"), -ENXIO);
    ::close(listen_at(world.folder(), 1)); // the name stays, nobody listens
    EXPECT_EQ(add(handle, "x"), -ECONNREFUSED);
}

TEST_F(Add, WaitsForADaemonThatComesBackInTime) {
    ::close(listen_at(world.folder(), 1));
    const Handle handle = open(world, "links", 10000);
    int r = -1;
    Event begun;
    std::thread worker{[&] {
        begun.set();
        r = add(handle, "x");
    }};
    begun.wait();
    FakeDaemon daemon{world, good_daemon(world, {0})};
    worker.join();
    EXPECT_EQ(r, SHMBLOOM_ABSENT); // the first attempts were never received
}

TEST_F(Add, ConnectsAnewAfterTheDaemonsRestart) {
    const Handle handle = open(world, "links");
    {
        FakeDaemon daemon{world, [&](Session &session, int) {
                              session.hello(uuid());
                              session.next();
                              session.answer(0);
                          }};
        EXPECT_EQ(add(handle, "x"), SHMBLOOM_ABSENT);
    }
    FakeDaemon daemon{world, good_daemon(world, {0})};
    EXPECT_EQ(add(handle, "y"), SHMBLOOM_ABSENT);
}

TEST_F(Add, ThatMayHaveBeenDoneBeforeIsUnverified) {
    FakeDaemon daemon{world, [&](Session &session, int number) {
                          session.hello(uuid());
                          session.next();
                          if (number == 0)
                              return; // dies with the add in hand
                          session.answer(0);
                          session.next();
                          session.answer(1);
                      }};
    const Handle handle = open(world, "links");
    EXPECT_EQ(add(handle, "x"), SHMBLOOM_UNVERIFIED);
    EXPECT_EQ(daemon.connections(), 2);
    // That was the first add's affair: the next one is told what the daemon says.
    EXPECT_EQ(add(handle, "x"), SHMBLOOM_MAYBE);
}

TEST_F(Add, ThatMayHaveBeenDoneIsUnknownWhenNoDaemonComesBack) {
    auto daemon = std::make_unique<FakeDaemon>(world, [&](Session &session, int) {
        session.hello(uuid());
        session.next();
        ::unlink((world.folder() + "/socket").c_str());
    });
    EXPECT_EQ(add(open(world, "links", 100), "x"), -ETIMEDOUT);
}

TEST_F(Add, HashesAgainWhenTheDomainIsStale) {
    const Handle handle = open(world, "links");
    Command seen;
    FakeDaemon daemon{world, [&](Session &session, int) {
                          session.hello(uuid());
                          session.next();
                          world.drop(filter);
                          world.create("links", {.seed = 5, .domain = 0x10});
                          session.send("-STALE hash domain\r\n");
                          seen = session.next().value_or(Command{});
                          session.answer(0);
                      }};
    EXPECT_EQ(add(handle, "x"), SHMBLOOM_ABSENT);
    const std::uint64_t hash = shmbloom_hash_bytes("x", 1, 0, 5);
    EXPECT_EQ(seen, (Command{"SB.ADDH", "links", "0000000000000011", {reinterpret_cast<const char *>(&hash), 8}}));
    EXPECT_EQ(daemon.connections(), 1);
}

TEST_F(Add, GivesUpOnADaemonThatStaysStale) {
    std::atomic<int> adds{0};
    FakeDaemon daemon{world, [&](Session &session, int) {
                          session.hello(uuid());
                          while (session.next()) {
                              adds++;
                              session.send("-STALE\r\n");
                          }
                      }};
    const int r = add(open(world, "links", 200), "x");
    EXPECT_TRUE(r == -ESTALE || r == -ETIMEDOUT) << r; // the end may come while the last reply is waited for
    EXPECT_LE(adds, 50);                               // with growing pauses
}

TEST_F(Add, OfADaemonWithAnotherControlIsNotAcknowledged) {
    std::uint8_t other[16] = {1, 2, 3};
    FakeDaemon daemon{world, [&](Session &session, int) {
                          session.hello(other);
                          session.next();
                          session.answer(0);
                          EXPECT_FALSE(session.next());
                      }};
    const int r = add(open(world, "links", 1000), "x");
    EXPECT_LT(r, 0);
    EXPECT_GE(daemon.connections(), 2);
}

TEST_F(Add, MapsTheControlOfTheDaemonItTalksToFirst) {
    const Handle handle = open(world, "links");
    // /run was wiped and the daemon started anew: the handle still has the old control, live for ever.
    world.replace_control();
    world.drop(filter);
    Filter &again = world.create("links", {.seed = 6});
    Command seen;
    FakeDaemon daemon{world, [&](Session &session, int number) {
                          session.hello(uuid());
                          const auto command = session.next().value_or(Command{});
                          if (number == 1)
                              seen = command;
                          session.send(number == 0 ? "-STALE\r\n" : std::string{"$1\r\n\0\r\n", 7});
                      }};
    // Sent twice, to a daemon that might have done the first.
    EXPECT_EQ(add(handle, "x"), SHMBLOOM_UNVERIFIED);
    const std::uint64_t hash = shmbloom_hash_bytes("x", 1, 0, 6);
    ASSERT_EQ(seen.size(), 4u);
    EXPECT_EQ(seen[3], (std::string{reinterpret_cast<const char *>(&hash), 8}));
    world.add(again, "x");
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_MAYBE);
}

class BadHello : public Add, public testing::WithParamInterface<std::string> {};

TEST_P(BadHello, IsAProtocolError) {
    FakeDaemon daemon{world, [&](Session &session, int) {
                          session.next();
                          session.send(GetParam());
                          session.next();
                          session.next();
                      }};
    EXPECT_EQ(add(open(world, "links"), "x"), -EPROTO);
}

INSTANTIATE_TEST_SUITE_P(Add, BadHello,
                         testing::Values("+OK\r\n", "-ERR unknown command\r\n", "*0\r\n",
                                         "*2\r\n$1\r\na\r\n$1\r\nb\r\n", "*2\r\n$12\r\ncontrol_uuid\r\n$3\r\nabc\r\n",
                                         "*2\r\n$12\r\ncontrol_uuid\r\n$36\r\nxxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx\r\n",
                                         "*2000000\r\n", "*1000000\r\n*1000000\r\n"));

TEST_F(Add, OfAForkedChildUsesAConnectionOfItsOwn) {
    FakeDaemon daemon{world, good_daemon(world, {0})};
    const Handle handle = open(world, "links");
    EXPECT_EQ(add(handle, "x"), SHMBLOOM_ABSENT);
    EXPECT_EQ(in_child([&] { return add(handle, "y") == SHMBLOOM_ABSENT ? 42 : 0; }), 42);
    EXPECT_EQ(daemon.connections(), 2);
    // The child's end did not take the parent's connection along.
    EXPECT_EQ(add(handle, "z"), SHMBLOOM_ABSENT);
    EXPECT_EQ(daemon.connections(), 2);
}

TEST_F(Add, ThatDoesNotWaitIsSentAndNothingElse) {
    Event sent;
    FakeDaemon daemon{world, [&](Session &session, int) {
                          sent.wait();
                          session.hello(uuid());
                      }};
    const Handle handle = open(world, "links", -1);
    int r = 0;
    const auto passed = time_of([&] { r = add(handle, "x"); });
    EXPECT_EQ(r, -EINPROGRESS);
    EXPECT_LE(passed, milliseconds{500});
    sent.set();
    EXPECT_TRUE(eventually([&] { return daemon.connections() == 1; }));
}

TEST_F(Add, ThatDoesNotWaitSaysAtOnceThatThereIsNoDaemon) {
    const Handle handle = open(world, "links", -1);
    EXPECT_EQ(add(handle, "x"), -ENXIO);
    ::close(listen_at(world.folder(), 1));
    EXPECT_EQ(add(handle, "x"), -ECONNREFUSED);
}

TEST_F(Add, OfManyHashesIsAllOrNothing) {
    std::vector<std::uint64_t> hashes(SHMBLOOM__ADD_BATCH);
    for (std::size_t i = 0; i < hashes.size(); i++)
        hashes[i] = i;
    FakeDaemon daemon{world, [&](Session &session, int) {
                          session.hello(uuid());
                          const auto command = session.next();
                          EXPECT_EQ(command->at(3).size(), hashes.size() * 8);
                          session.send("$65536\r\n" + std::string(65536, '\1') + "\r\n");
                          session.next();
                          session.send("$65536\r\n" + std::string(65535, '\1') + "\7\r\n");
                      }};
    const Handle handle = open(world, "links");
    const std::uint64_t domain = info(handle).hash_domain;
    std::vector<std::uint8_t> answers(hashes.size(), 9);
    EXPECT_EQ(shmbloom__add_hashes(handle.get(), domain, hashes.data(), hashes.size(), answers.data()), 0);
    EXPECT_EQ(answers, std::vector<std::uint8_t>(hashes.size(), 1));
    answers.assign(hashes.size(), 9);
    EXPECT_EQ(shmbloom__add_hashes(handle.get(), domain, hashes.data(), hashes.size(), answers.data()), -EPROTO);
    EXPECT_EQ(answers, std::vector<std::uint8_t>(hashes.size(), 9));
    EXPECT_EQ(shmbloom__add_hashes(handle.get(), domain, hashes.data(), hashes.size() + 1, answers.data()), -EINVAL);
    EXPECT_EQ(shmbloom__add_hashes(handle.get(), domain, nullptr, 0, nullptr), 0);
}

} // namespace
} // namespace shmbloom::test
