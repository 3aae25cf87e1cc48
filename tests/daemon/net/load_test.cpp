// Many peers, peers that mean no good, and limits that are reached.
#include <algorithm>
#include <gtest/gtest.h>
#include <list>
#include <map>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include "loop_server.h"

namespace shmbloom::net {
namespace {

// The soft limit of open files is such that `left` more can be opened, until this dies.
class FewFilesLeft {
  public:
    explicit FewFilesLeft(unsigned left) {
        EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
        const int lowest_free = ::dup(0);
        ::close(lowest_free);
        set(static_cast<rlim_t>(lowest_free) + left);
    }
    ~FewFilesLeft() { set(before_.rlim_cur); }

  private:
    void set(rlim_t soft) {
        const rlimit limit = {soft, before_.rlim_max};
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    }

    rlimit before_ = {};
};

TEST(Load, ServesAThousandConnections) {
    LoopServer server;
    std::list<Client> clients;
    for (int i = 0; i < 1000; i++)
        clients.emplace_back(server.path());
    for (Client &client : clients)
        client.send(encode({"ECHO", "a"}) + encode({"ECHO", "b"}));
    for (Client &client : clients)
        EXPECT_EQ(client.receive(8), "+a\r\n+b\r\n");
    EXPECT_EQ(server.on_loop([](Server &s) { return s.session_count(); }), 1000U);
    clients.clear();
    EXPECT_TRUE(server.handler().wait_closed(1000));
}

TEST(Load, APeerThatNeverReadsIsNotReadAndHoldsUpNobody) {
    LoopServer server;
    Client greedy{server.path()};
    const std::string request = encode({"BIG", "10000"});
    std::string many;
    for (int i = 0; i < 1000; i++)
        many += request;
    // Full when nothing fits any more even after others have had their turns.
    std::size_t sent = 0;
    Client other{server.path()};
    for (int full = 0; full < 10;) {
        const std::size_t size = greedy.send_what_fits(std::string_view{many}.substr(sent % request.size()));
        sent += size;
        full = size == 0 ? full + 1 : 0;
        EXPECT_EQ(other.ask({"ECHO", "x"}), "+x\r\n");
        if (sent > std::size_t{100} << 20)
            FAIL() << "is read without end";
    }
    other.close();
    EXPECT_TRUE(server.handler().wait_closed(1));

    // And when it reads after all, it gets every reply.
    const std::size_t commands = sent / request.size();
    greedy.close_writing();
    EXPECT_EQ(greedy.receive_rest().size(), commands * 10'000);
}

TEST(Load, SlowAndIdlePeersHoldUpNobody) {
    LoopServer server;
    std::list<Client> slow;
    for (int i = 0; i < 100; i++) {
        slow.emplace_back(server.path());
        slow.back().send("*2\r\n$4\r\nECHO\r\n$1000000\r\nbegun");
    }
    Client other{server.path()};
    for (int i = 0; i < 100; i++)
        EXPECT_EQ(other.ask({"ECHO", "x"}), "+x\r\n");
}

// How many commands in a row were one session's while the other still had some.
std::size_t longest_run(const std::vector<SessionId> &order, std::size_t commands_each) {
    std::map<SessionId, std::size_t> done;
    std::size_t longest = 0, run = 0;
    for (std::size_t i = 0; i < order.size() && (done.empty() || done[order[i - 1]] < commands_each); i++) {
        run = i > 0 && order[i] == order[i - 1] ? run + 1 : 1;
        longest = std::max(longest, run);
        done[order[i]]++;
    }
    return longest;
}

TEST(Load, ALongPipelineDoesNotStarveOthers) {
    constexpr std::size_t kCommands = 1000;
    LoopServer server;
    // Two that are held at their first command, with all the others in their buffers.
    std::string many = encode({"LATER", "go"});
    for (std::size_t i = 1; i < kCommands; i++)
        many += encode({"NONE"});
    Client first{server.path()}, second{server.path()};
    first.send(many);
    second.send(many);
    ASSERT_TRUE(server.handler().wait_executed(2));
    server.release(2); // both in one turn of the loop: from here on nothing waits for this thread
    ASSERT_TRUE(server.handler().wait_executed(2 * kCommands));

    std::vector<SessionId> order = server.handler().order();
    order.erase(order.begin(), order.begin() + 2);
    EXPECT_LE(longest_run(order, kCommands - 1), 64U);
    for (Client *client : {&first, &second})
        EXPECT_EQ(client->receive(5 + 22 * (kCommands - 1)).substr(0, 5), "+go\r\n");
}

TEST(Load, InputMemoryIsLimitedOverAllConnections) {
    LoopServer server{{.input_memory_bytes = std::size_t{8} << 20}};
    // Three requests of a quarter, but for their last bytes.
    const std::string most = encode({"ECHO", std::string((std::size_t{2} << 20) - 100, 'x')});
    std::list<Client> holders;
    for (int i = 0; i < 3; i++) {
        holders.emplace_back(server.path());
        holders.back().send(std::string_view{most}.substr(0, most.size() - 2));
    }
    Client refused{server.path()};
    refused.send_whole(most);
    EXPECT_EQ(refused.receive_rest(),
              "-NOMEM input memory of all connections is used up (limit 8388608 bytes); try again\r\n");

    // Small requests find room all the same, and memory is given back.
    EXPECT_EQ(Client{server.path()}.ask({"ECHO", "small"}), "+small\r\n");
    for (Client &holder : holders) {
        holder.send("\r\n");
        EXPECT_EQ(holder.receive(most.size() - 32 + 6).substr(0, 3), "+xx");
        holder.close();
    }
    EXPECT_TRUE(server.handler().wait_closed(4));
    Client again{server.path()};
    again.send(most);
    EXPECT_EQ(again.receive(3), "+xx");
}

TEST(Load, ArgumentsCountAsInputMemory) {
    LoopServer server{{.input_memory_bytes = std::size_t{4} << 20}};
    Client client{server.path()};
    client.send_whole(encode(std::vector<std::string>(150'000, ""))); // 0.9 MiB that need 4.8 MiB of views
    EXPECT_EQ(client.receive_rest().substr(0, 6), "-NOMEM");
    EXPECT_EQ(Client{server.path()}.ask({"ECHO", "x"}), "+x\r\n");
}

TEST(Load, ConnectionsAboveTheLimitAreTold) {
    LoopServer server{{.connections = 2}};
    Client first{server.path()};
    Client second{server.path()};
    EXPECT_EQ(first.ask({"ECHO", "1"}), "+1\r\n");
    EXPECT_EQ(second.ask({"ECHO", "2"}), "+2\r\n");
    EXPECT_EQ(Client{server.path()}.receive_rest(), "-BUSY too many connections (limit 2); try again\r\n");
    first.close();
    ASSERT_TRUE(server.handler().wait_closed(1));
    EXPECT_EQ(Client{server.path()}.ask({"ECHO", "3"}), "+3\r\n");
}

TEST(Load, ConnectionsWithoutADescriptorAreTold) {
    LoopServer server;
    std::vector<Client> clients(10);
    {
        const FewFilesLeft limit{3};
        for (Client &client : clients)
            client.connect(server.path());
        for (std::size_t i = 0; i < 3; i++)
            EXPECT_EQ(clients[i].ask({"ECHO", "x"}), "+x\r\n");
        for (std::size_t i = 3; i < clients.size(); i++)
            EXPECT_EQ(clients[i].receive_rest().substr(0, 26), "-BUSY no file descriptor i");
    }
    EXPECT_EQ(Client{server.path()}.ask({"ECHO", "x"}), "+x\r\n");
}

} // namespace
} // namespace shmbloom::net
