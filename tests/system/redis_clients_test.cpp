// The clients that people have: redis-cli and redis-benchmark. And very many of them at once.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "instance.h"

namespace shmbloom::test {
namespace {

class RedisClients : public ::testing::Test {
  protected:
    void SetUp() override { instance.start(); }

    std::string cli(std::vector<std::string> command) {
        command.insert(command.begin(), {"/usr/bin/redis-cli", "-s", instance.runtime_dir() + "/socket"});
        std::string output = run(command).output;
        while (output.ends_with('\n'))
            output.pop_back();
        return output;
    }

    TestInstance instance;
};

TEST_F(RedisClients, CliSpeaksRedisBloomsCommandsSafely) {
    EXPECT_EQ(cli({"PING"}), "PONG");
    EXPECT_EQ(cli({"BF.RESERVE", "links", "0.001", "1000", "EXPANSION", "4"}), "OK");
    EXPECT_EQ(cli({"BF.EXISTS", "links", "a"}), "1"); // warming: cannot say
    EXPECT_EQ(cli({"BF.ADD", "links", "a"}), "0");    // not certainly new
    EXPECT_EQ(cli({"SB.LIVE", "links", "EXPECT", "5"}).substr(0, 5), "RANGE");
    EXPECT_EQ(cli({"SB.LIVE", "links", "EXPECT", "1"}), "OK");
    EXPECT_EQ(cli({"BF.EXISTS", "links", "b"}), "0");
    EXPECT_EQ(cli({"BF.ADD", "links", "b"}), "1");
    EXPECT_EQ(cli({"BF.MADD", "links", "b", "c"}), "0\n1");
    EXPECT_EQ(cli({"BF.MEXISTS", "links", "a", "b", "c", "d"}), "1\n1\n1\n0");
    EXPECT_EQ(cli({"BF.EXISTS", "nothing", "a"}).substr(0, 8), "NOTFOUND");
    EXPECT_EQ(cli({"BF.ADD", "nothing", "a"}).substr(0, 8), "NOTFOUND");
    EXPECT_EQ(cli({"BF.RESERVE", "links", "0.001", "1000"}).substr(0, 6), "EXISTS");
    EXPECT_EQ(cli({"BF.RESERVE", "x", "0.001", "1000", "EXPANSION", "2", "NONSCALING"}).substr(0, 5), "RANGE");
    EXPECT_EQ(cli({"HELLO", "3"}).substr(0, 7), "NOPROTO");
    EXPECT_EQ(cli({"SET", "a", "b"}).substr(0, 3), "ERR");
    EXPECT_EQ(instance.info("links").at("expansion"), "4");
}

TEST_F(RedisClients, CliAddsOfU64KeysMustBeNumbers) {
    instance.must_ctl({"create", "ids", "--capacity", "1000", "--fpr", "0.001", "--key-type", "u64", "--nothing-exists-yet"});
    EXPECT_EQ(cli({"BF.ADD", "ids", "42"}), "1");
    EXPECT_EQ(cli({"BF.ADD", "ids", "0042"}), "0"); // the same number
    for (const char *bad : {"", "-1", "4.2", "x", "18446744073709551616", " 7"})
        EXPECT_EQ(cli({"BF.ADD", "ids", bad}).substr(0, 5), "RANGE") << bad;
    EXPECT_EQ(cli({"BF.MADD", "ids", "43", "x"}).substr(0, 5), "RANGE");
    EXPECT_EQ(cli({"BF.EXISTS", "ids", "43"}), "0"); // all or none
}

TEST_F(RedisClients, BenchmarkRunsPipelinedAndNot) {
    instance.must_ctl({"create", "links", "--capacity", "1e6", "--fpr", "0.001", "--nothing-exists-yet"});
    for (const char *pipeline : {"1", "16"}) {
        const Finished finished = run({"/usr/bin/redis-benchmark", "-s", instance.runtime_dir() + "/socket", "-n", "20000", "-c", "50", "-P",
                                       pipeline, "-r", "100000", "-q", "BF.ADD", "links", "key:__rand_int__"});
        EXPECT_EQ(finished.code, 0) << finished.log;
        EXPECT_NE(finished.output.find("requests per second"), std::string::npos) << finished.output;
    }
    EXPECT_EQ(instance.info("links").at("adds_acknowledged"), "40000");
}

// Else the kernel grows it while connections come, and the loop waits for every processor each time.
TEST_F(RedisClients, TableOfDescriptorsIsGrownBeforeTheFirstConnection) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    std::ifstream status{"/proc/" + std::to_string(instance.daemon().pid()) + "/status"};
    std::uint64_t table_size = 0;
    for (std::string word; status >> word && word != "FDSize:";)
        continue;
    status >> table_size;
    EXPECT_GE(table_size, std::min<rlim_t>(limit.rlim_max, 65536));
}

TEST_F(RedisClients, FiveThousandConnectionsHoldUpNobody) {
    constexpr std::size_t kConnections = 5000;
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < kConnections + 2048)
        GTEST_SKIP() << "this process may have " << limit.rlim_max << " descriptors only";
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    instance.must_ctl({"create", "links", "--capacity", "1000", "--fpr", "0.001", "--nothing-exists-yet"});
    Worker worker = instance.worker();
    worker.open("links");

    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    const std::string path = instance.runtime_dir() + "/socket";
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    std::vector<int> sockets;
    for (std::size_t i = 0; i < kConnections; i++) {
        sockets.push_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        ASSERT_EQ(::connect(sockets.back(), reinterpret_cast<const sockaddr *>(&address), sizeof address), 0) << i << ": " << std::strerror(errno);
    }
    EXPECT_EQ(worker.tell("put something"), "0");
    for (const int socket : sockets)
        ASSERT_EQ(::send(socket, "PING\r\n", 6, MSG_NOSIGNAL), 6);
    for (const int socket : sockets) {
        char reply[7];
        ASSERT_EQ(::recv(socket, reply, sizeof reply, MSG_WAITALL), 7);
        ::close(socket);
    }
    EXPECT_EQ(worker.tell("ask something"), "1");
}

} // namespace
} // namespace shmbloom::test
