// The socket's place and mode, the peer, and the server's two ways to end.
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "loop_server.h"

namespace shmbloom::net {
namespace {

class SocketPlace : public testing::Test {
  protected:
    SocketPlace() { EXPECT_TRUE(::mkdtemp(folder_.data())); }
    ~SocketPlace() override { std::filesystem::remove_all(folder_); }

    std::string path(const std::string &name) const { return folder_ + "/" + name; }

    std::error_code listen_error(const std::string &path, std::string *text) {
        try {
            const Server server{io_, path, handler_, Limits{}};
        } catch (const std::system_error &e) {
            *text = e.what();
            return e.code();
        }
        return {};
    }

    mode_t mode_with_umask(mode_t mask) {
        const mode_t before = ::umask(mask);
        const Server server{io_, path("socket"), handler_, Limits{}};
        ::umask(before);
        struct stat found = {};
        EXPECT_EQ(::stat(path("socket").c_str(), &found), 0);
        return found.st_mode & 07777;
    }

    asio::io_context io_;
    SteeredHandler handler_;
    std::string folder_ = "/tmp/shmbloom-net-XXXXXX";
};

TEST_F(SocketPlace, HasItsModeWhateverTheUmask) {
    EXPECT_EQ(mode_with_umask(0), 0660U);
    EXPECT_EQ(mode_with_umask(077), 0660U);
}

TEST_F(SocketPlace, TakesTheNameOfASocketThatIsLeftOver) {
    std::string text;
    EXPECT_FALSE(listen_error(path("socket"), &text)) << text;
    ASSERT_TRUE(std::filesystem::is_socket(path("socket"))); // the name stays when a server ends
    EXPECT_FALSE(listen_error(path("socket"), &text)) << text;
}

TEST_F(SocketPlace, LeavesAFileThatIsNoSocket) {
    std::ofstream{path("socket")} << "precious";
    std::string text;
    EXPECT_EQ(listen_error(path("socket"), &text).value(), EEXIST);
    EXPECT_NE(text.find("'" + path("socket") + "'"), std::string::npos) << text;
    EXPECT_EQ(std::filesystem::file_size(path("socket")), 8U);
}

TEST_F(SocketPlace, HasAtMost107Characters) {
    std::string text;
    const std::string longest = path(std::string(107 - folder_.size() - 1, 's'));
    EXPECT_FALSE(listen_error(longest, &text)) << text;
    EXPECT_EQ(listen_error(longest + "s", &text).value(), ENAMETOOLONG);
    EXPECT_NE(text.find("'" + longest + "s'"), std::string::npos) << text;
    EXPECT_NE(text.find("107"), std::string::npos) << text;
}

TEST_F(SocketPlace, SaysWhichFolderIsMissing) {
    std::string text;
    EXPECT_EQ(listen_error(path("none/socket"), &text).value(), ENOENT);
    EXPECT_NE(text.find(path("none/socket")), std::string::npos) << text;
}

TEST(Server, KnowsWhoIsOnTheOtherEnd) {
    LoopServer server;
    Client client{server.path()};
    EXPECT_EQ(client.ask({"WHO"}), "+" + std::to_string(::getuid()) + " " + std::to_string(::getgid()) + " " +
                                       std::to_string(::getpid()) + "\r\n");
}

std::set<int> inherited_by_programs() {
    std::set<int> result;
    for (const auto &entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
        const int fd = std::stoi(entry.path().filename());
        const int flags = ::fcntl(fd, F_GETFD);
        if (flags >= 0 && !(flags & FD_CLOEXEC))
            result.insert(fd);
    }
    return result;
}

TEST(Server, LeavesNoDescriptorToProgramsItStarts) {
    const auto before = inherited_by_programs();
    LoopServer server;
    Client client{server.path()};
    EXPECT_EQ(client.ask({"ECHO", "1"}), "+1\r\n");
    EXPECT_EQ(inherited_by_programs(), before);
}

TEST(Server, DrainWaitsForTheCommandExecutingAndItsReply) {
    LoopServer server;
    Client busy{server.path()};
    Client idle{server.path()};
    EXPECT_EQ(idle.ask({"ECHO", "1"}), "+1\r\n");
    busy.send(encode({"LATER", "2"}) + encode({"ECHO", "not any more"}));
    ASSERT_TRUE(server.handler().wait_executed(2));

    auto drained = server.drain();
    EXPECT_EQ(idle.receive_rest(), "");
    EXPECT_EQ(server.on_loop([](Server &s) { return s.session_count(); }), 1U);
    EXPECT_EQ(drained.wait_for(std::chrono::seconds{0}), std::future_status::timeout);

    server.release(1);
    EXPECT_EQ(busy.receive_rest(), "+2\r\n");
    EXPECT_EQ(drained.wait_for(kDeadline), std::future_status::ready);
    EXPECT_EQ(server.handler().executed(), 2U);
    EXPECT_EQ(server.handler().closed_count(), 2U);
}

TEST(Server, DrainSendsWhatIsNotReadYet) {
    LoopServer server;
    Client client{server.path()};
    client.send(encode({"BIG", "5000000"}));
    EXPECT_EQ(client.receive(1), "x");
    auto drained = server.drain();
    EXPECT_EQ(client.receive_rest().size(), 4'999'999U);
    EXPECT_EQ(drained.wait_for(kDeadline), std::future_status::ready);
}

TEST(Server, DrainWithoutSessionsIsDoneAtOnce) {
    LoopServer server;
    EXPECT_EQ(server.drain().wait_for(kDeadline), std::future_status::ready);
}

TEST(Server, AbandonEndsADrainHeldUpByAPeerThatDoesNotRead) {
    LoopServer server;
    Client client{server.path()};
    client.send(encode({"BIG", "50000000"}));
    EXPECT_EQ(client.receive(1), "x");
    auto drained = server.drain();
    EXPECT_EQ(drained.wait_for(std::chrono::seconds{0}), std::future_status::timeout);
    server.on_loop([](Server &s) { s.abandon(); });
    EXPECT_EQ(drained.wait_for(kDeadline), std::future_status::ready);
    EXPECT_EQ(server.handler().closed_count(), 1U);
}

TEST(Server, ACommandMayBeDoneAfterItsSessionWasAbandoned) {
    LoopServer server;
    Client client{server.path()};
    client.send(encode({"LATER", std::string(100'000, 'x')}));
    ASSERT_TRUE(server.handler().wait_executed(1));
    server.on_loop([](Server &s) { s.abandon(); });
    EXPECT_EQ(client.receive_rest(), "");
    server.release(1); // reads the arguments
    EXPECT_EQ(server.handler().closed_count(), 1U);
}

TEST(Server, ACommandMayBeDoneAfterServerAndLoopAreGone) {
    LoopServer server;
    Client client{server.path()};
    client.send(encode({"LATER", std::string(100'000, 'x')}));
    ASSERT_TRUE(server.handler().wait_executed(1));
    server.stop();
    EXPECT_EQ(client.receive_rest(), "");
    server.release(1);
    EXPECT_EQ(server.handler().closed_count(), 0U); // the handler was not called any more
}

} // namespace
} // namespace shmbloom::net
