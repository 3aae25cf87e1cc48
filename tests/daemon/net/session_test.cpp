// One client at a time: commands, their order, and the ways to end.
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

#include "loop_server.h"

namespace shmbloom::net {
namespace {

std::string echo(std::string_view text) {
    return encode({"ECHO", std::string{text}});
}

std::string later(std::string_view text) {
    return encode({"LATER", std::string{text}});
}

std::string ahead(std::string_view text) {
    return encode({"AHEAD", std::string{text}});
}

TEST(Session, RepliesToACommand) {
    LoopServer server;
    Client client{server.path()};
    EXPECT_EQ(client.ask({"ECHO", "hello"}), "+hello\r\n");
    client.send("echo hello\nECHO \"a b\"\r\n\r\n*0\r\n");
    EXPECT_EQ(client.receive_line(), "-ERR unknown command\r\n");
    EXPECT_EQ(client.receive_line(), "+a b\r\n");
    EXPECT_EQ(client.ask({"ECHO", "and on"}), "+and on\r\n");
}

TEST(Session, TakesBytesOneAtATime) {
    LoopServer server;
    Client client{server.path()};
    const std::string request = echo("slow");
    for (const char c : request)
        client.send({&c, 1});
    EXPECT_EQ(client.receive_line(), "+slow\r\n");
}

TEST(Session, AnswersALongPipelineInOrder) {
    LoopServer server;
    Client client{server.path()};
    constexpr int kCommands = 100'000;
    std::thread writer{[&] {
        std::string all;
        for (int i = 0; i < kCommands; i++)
            all += echo(std::to_string(i));
        client.send(all);
        client.close_writing();
    }};
    std::string expected;
    for (int i = 0; i < kCommands; i++)
        expected += "+" + std::to_string(i) + "\r\n";
    EXPECT_EQ(client.receive_rest(), expected);
    writer.join();
}

TEST(Session, TakesLargeRequestsAmongSmallOnes) {
    LoopServer server;
    Client client{server.path()};
    const std::string large(std::size_t{33} << 20, 'L');
    std::thread writer{[&] { client.send(echo("a") + echo(large) + echo("b") + echo(large) + echo("c")); }};
    EXPECT_EQ(client.receive(4), "+a\r\n");
    EXPECT_TRUE(client.receive(large.size() + 3) == "+" + large + "\r\n");
    EXPECT_EQ(client.receive(4), "+b\r\n");
    EXPECT_TRUE(client.receive(large.size() + 3) == "+" + large + "\r\n");
    EXPECT_EQ(client.receive(4), "+c\r\n");
    writer.join();
}

TEST(Session, NextCommandWaitsForTheOneExecuting) {
    LoopServer server;
    Client client{server.path()};
    client.send(echo("1") + later("2") + echo("3") + later("4") + echo("5"));
    EXPECT_EQ(client.receive_line(), "+1\r\n"); // is not held back until 2 is known
    ASSERT_TRUE(server.handler().wait_executed(2));
    EXPECT_EQ(server.on_loop([&](Server &) { return server.handler().executed(); }), 2U);
    server.release(1);
    ASSERT_TRUE(server.handler().wait_executed(4));
    server.release(1);
    EXPECT_EQ(client.receive(16), "+2\r\n+3\r\n+4\r\n+5\r\n");
}

TEST(Session, ThoseThatRunAheadWaitTogether) {
    LoopServer server;
    Client client{server.path()};
    client.send(ahead("1") + ahead("2") + ahead("3") + echo("4") + ahead("5") + later("6") + ahead("7"));
    ASSERT_TRUE(server.handler().wait_executed(3));
    EXPECT_EQ(server.on_loop([&](Server &) { return server.handler().executed(); }), 3U); // 4 waits for them
    client.send(ahead("8"));
    server.release(2);
    EXPECT_EQ(client.receive(8), "+1\r\n+2\r\n"); // neither is held back until 3 is known
    server.release(1);
    ASSERT_TRUE(server.handler().wait_executed(5)); // 4 and 5, and 6 waits for 5
    EXPECT_EQ(client.receive(8), "+3\r\n+4\r\n");
    server.release(1);
    ASSERT_TRUE(server.handler().wait_executed(6));
    server.release(1);
    ASSERT_TRUE(server.handler().wait_executed(8)); // 7 waited for 6
    server.release(2);
    EXPECT_EQ(client.receive(16), "+5\r\n+6\r\n+7\r\n+8\r\n");
}

TEST(Session, RepliesInOrderThoughThoseThatRunAheadAreDoneInAnother) {
    LoopServer server;
    Client client{server.path()};
    client.send(ahead("1") + ahead("2") + ahead("3"));
    ASSERT_TRUE(server.handler().wait_executed(3));
    server.release(3, true);
    EXPECT_EQ(client.receive(12), "+1\r\n+2\r\n+3\r\n");
}

TEST(Session, RepliesToThoseThatRunAheadBeforeItEnds) {
    for (const std::string &end : {encode({"QUIT"}), std::string{"*x\r\n"}, std::string{}}) {
        LoopServer server;
        Client client{server.path()};
        client.send(ahead("1") + ahead("2") + end);
        client.close_writing();
        ASSERT_TRUE(server.handler().wait_executed(2));
        server.release(2, true);
        EXPECT_TRUE(client.receive_rest().starts_with("+1\r\n+2\r\n")) << end;
        EXPECT_TRUE(server.handler().wait_closed(1));
    }
}

TEST(Session, IsClosedOnlyWhenThoseThatRunAheadAreDone) {
    LoopServer server;
    Client client{server.path()};
    client.send(ahead("1") + ahead("2"));
    client.close();
    ASSERT_TRUE(server.handler().wait_executed(2));
    server.release(1);
    EXPECT_EQ(server.on_loop([&](Server &) { return server.handler().closed_count(); }), 0U);
    server.release(1);
    EXPECT_TRUE(server.handler().wait_closed(1));
}

TEST(Session, OnlySoManyRunAhead) {
    LoopServer server;
    Client client{server.path()};
    constexpr std::size_t kCommands = 2000;
    std::string all, expected;
    for (std::size_t i = 0; i < kCommands; i++) {
        all += ahead(std::to_string(i));
        expected += "+" + std::to_string(i) + "\r\n";
    }
    client.send(all);
    std::size_t most = 0;
    for (std::size_t done = 0; done < kCommands; done++) {
        ASSERT_TRUE(server.handler().wait_executed(done + 1));
        most = std::max(most, server.on_loop([&](Server &) { return server.handler().executed(); }) - done);
        server.release(1);
    }
    EXPECT_GT(most, 50U);
    EXPECT_LT(most, 500U);
    EXPECT_EQ(client.receive(expected.size()), expected);
}

TEST(Session, ALargeOneRunsAheadOfNothing) {
    LoopServer server;
    Client client{server.path()};
    const std::string large(std::size_t{60} << 20, 'L'); // near the greatest that a request can be
    std::thread writer{[&] { client.send(ahead(large) + ahead("b")); }};
    ASSERT_TRUE(server.handler().wait_executed(1));
    writer.join();
    EXPECT_EQ(server.on_loop([&](Server &) { return server.handler().executed(); }), 1U);
    server.release(1);
    EXPECT_TRUE(client.receive(large.size() + 3) == "+" + large + "\r\n");
    ASSERT_TRUE(server.handler().wait_executed(2));
    server.release(1);
    EXPECT_EQ(client.receive(4), "+b\r\n");
}

TEST(Session, ADrainWaitsForThoseThatRunAhead) {
    LoopServer server;
    Client client{server.path()};
    client.send(ahead("1") + ahead("2") + echo("3"));
    ASSERT_TRUE(server.handler().wait_executed(2));
    auto drained = server.drain();
    server.release(2);
    drained.get();
    EXPECT_EQ(client.receive_rest(), "+1\r\n+2\r\n");
}

TEST(Session, ExecutesAndRepliesAfterHalfClose) {
    LoopServer server;
    Client client{server.path()};
    client.send(later("1") + echo("2") + "*1\r\n$4\r\nHA");
    client.close_writing();
    ASSERT_TRUE(server.handler().wait_executed(1));
    server.release(1);
    EXPECT_EQ(client.receive_rest(), "+1\r\n+2\r\n");
    EXPECT_TRUE(server.handler().wait_closed(1));
}

TEST(Session, ExecutesWhatWasSentBeforeThePeerWentAway) {
    LoopServer server;
    Client client{server.path()};
    std::string all;
    for (int i = 0; i < 1000; i++)
        all += echo("x");
    client.send(later("y") + all);
    client.close();
    ASSERT_TRUE(server.handler().wait_executed(1));
    server.release(1);
    EXPECT_TRUE(server.handler().wait_closed(1));
    EXPECT_EQ(server.handler().executed(), 1001U);
}

TEST(Session, ExecutesTheRestWhenTheReaderOfLargeRepliesGoesAway) {
    LoopServer server{{.unread_output_bytes = 1000}};
    Client client{server.path()};
    std::string all;
    for (int i = 0; i < 100; i++)
        all += encode({"BIG", "1000000"});
    client.send(all);
    EXPECT_EQ(client.receive(10), "xxxxxxxxxx"); // now it waits for us to read the rest of the first ones
    client.close();
    EXPECT_TRUE(server.handler().wait_closed(1));
    EXPECT_EQ(server.handler().executed(), 100U);
}

TEST(Session, GoesOnWhenTheKernelTakesMoreThanTheUnreadOutputLimit) {
    LoopServer server{{.unread_output_bytes = 100}};
    Client client{server.path()};
    std::string all;
    for (int i = 0; i < 20; i++)
        all += encode({"BIG", "1000"});
    client.send(all);
    EXPECT_EQ(client.receive(20'000), std::string(20'000, 'x'));
}

TEST(Session, QuitEndsItAfterTheReply) {
    LoopServer server;
    Client client{server.path()};
    client.send(echo("1") + encode({"QUIT"}) + echo("2"));
    EXPECT_EQ(client.receive_rest(), "+1\r\n+OK\r\n");
    EXPECT_TRUE(server.handler().wait_closed(1));
    EXPECT_EQ(server.handler().executed(), 2U);
}

TEST(Session, ProtocolErrorEndsItAfterTheReplies) {
    LoopServer server;
    Client client{server.path()};
    client.send(echo("1") + "*1\r\n$-5\r\n" + echo("2"));
    EXPECT_EQ(client.receive_rest(), "+1\r\n-ERR Protocol error: length '-5' of argument 1 is not a number from 0 to "
                                     "67108864\r\n");
    client.close();
    EXPECT_TRUE(server.handler().wait_closed(1));
    EXPECT_EQ(server.handler().executed(), 1U);
}

TEST(Session, APeerThatIsStillSendingReadsWhyItIsRefused) {
    LoopServer server{{.input_memory_bytes = std::size_t{16} << 20}};
    Client client{server.path()};
    EXPECT_TRUE(client.send_whole(echo(std::string(std::size_t{5} << 20, 'x')))); // far more than the kernel buffers
    EXPECT_EQ(client.receive_rest(),
              "-ERR Protocol error: length '5242880' of argument 2 is not a number from 0 to 4194304\r\n");
}

TEST(Session, IsClosedThoughARefusedPeerNeverGoes) {
    LoopServer server;
    Client client{server.path()};
    client.send("*x\r\n");
    EXPECT_EQ(client.receive_line().substr(0, 4), "-ERR");
    EXPECT_TRUE(server.handler().wait_closed(1));
}

} // namespace
} // namespace shmbloom::net
