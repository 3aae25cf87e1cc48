// hiredis, the C client of Redis, on the daemon's socket: what it sends is understood, what it gets back is typed rightly.
#include <cstdarg>
#include <gtest/gtest.h>
#include <hiredis/hiredis.h>
#include <memory>
#include <regex>
#include <string>
#include <sys/socket.h>
#include <vector>

#include "instance.h"
#include "keys.h"

namespace shmbloom::test {
namespace {

struct Freed {
    void operator()(redisContext *context) const { redisFree(context); }
    void operator()(redisReply *reply) const { freeReplyObject(reply); }
};
using Context = std::unique_ptr<redisContext, Freed>;
using Reply = std::unique_ptr<redisReply, Freed>;

class Hiredis : public ::testing::Test {
  protected:
    void SetUp() override {
        instance.start();
        redis = connect();
    }

    Context connect() const {
        Context context{redisConnectUnix((instance.runtime_dir() + "/socket").c_str())};
        if (!context || context->err != 0)
            throw std::runtime_error{context ? context->errstr : "hiredis has no memory"};
        redisSetTimeout(context.get(), {60, 0}); // as a failure, not for ever
        return context;
    }
    // With a format as hiredis has it: %s, and %b for bytes and their number.
    Reply ask(const char *format, ...) {
        va_list arguments;
        va_start(arguments, format);
        Reply reply{static_cast<redisReply *>(redisvCommand(redis.get(), format, arguments))};
        va_end(arguments);
        return checked(std::move(reply));
    }
    // The next of a pipeline.
    Reply next() {
        void *reply = nullptr;
        redisGetReply(redis.get(), &reply);
        return checked(Reply{static_cast<redisReply *>(reply)});
    }
    std::string error(const std::string &line) {
        const Reply reply = ask(line.c_str());
        EXPECT_EQ(reply->type, REDIS_REPLY_ERROR) << line;
        return {reply->str, reply->len};
    }
    void create_live(const std::string &capacity = "100k") {
        instance.must_ctl({"create", "links", "--capacity", capacity, "--fpr", "1e-6", "--nothing-exists-yet"});
    }
    void append_adds(std::uint64_t from, std::uint64_t count) {
        for (std::uint64_t i = from; i < from + count; i++) {
            char key[TEST_KEY_MAX_BYTES];
            const std::size_t size = test_key(key, "base62", i);
            ASSERT_EQ(redisAppendCommand(redis.get(), "BF.ADD links %b", key, size), REDIS_OK);
        }
    }
    void write_all() {
        for (int done = 0; done == 0;)
            ASSERT_EQ(redisBufferWrite(redis.get(), &done), REDIS_OK) << redis->errstr;
    }

    TestInstance instance;
    Context redis;

  private:
    Reply checked(Reply reply) const {
        if (!reply)
            throw std::runtime_error{std::string{"hiredis got no reply: "} + redis->errstr};
        return reply;
    }
};

TEST_F(Hiredis, EveryReplyHasTheTypeThatRedisBloomsUsersExpect) {
    const Reply reserved = ask("BF.RESERVE links %s %d", "0.001", 1000);
    EXPECT_EQ(reserved->type, REDIS_REPLY_STATUS);
    EXPECT_STREQ(reserved->str, "OK");
    EXPECT_EQ(ask("BF.EXISTS links a")->integer, 1); // warming: cannot say
    EXPECT_STREQ(ask("SB.LIVE links FORCE")->str, "OK");

    const Reply exists = ask("BF.EXISTS links a");
    EXPECT_EQ(exists->type, REDIS_REPLY_INTEGER);
    EXPECT_EQ(exists->integer, 0);
    EXPECT_EQ(ask("BF.ADD links a")->integer, 1);
    EXPECT_EQ(ask("BF.ADD links a")->integer, 0);
    const Reply added = ask("BF.MADD links a b c");
    ASSERT_EQ(added->type, REDIS_REPLY_ARRAY);
    ASSERT_EQ(added->elements, 3u);
    for (std::size_t i = 0; i < 3; i++) {
        EXPECT_EQ(added->element[i]->type, REDIS_REPLY_INTEGER);
        EXPECT_EQ(added->element[i]->integer, i == 0 ? 0 : 1);
    }
    const Reply bulk = ask("PING %b", "a\0b", std::size_t{3});
    EXPECT_EQ(bulk->type, REDIS_REPLY_STRING);
    EXPECT_EQ(std::string(bulk->str, bulk->len), std::string("a\0b", 3));
}

TEST_F(Hiredis, RefusalsArriveAsErrorsAndTheConnectionGoesOn) {
    create_live();
    for (const auto &[line, word] : std::vector<std::pair<std::string, std::string>>{
             {"BF.ADD nothing a", "NOTFOUND "},
             {"BF.RESERVE links 0.001 1000", "EXISTS "},
             {"BF.RESERVE other 7 1000", "RANGE "},
             {"BF.ADD links", "ERR "},
             {"SET a b", "ERR "},
             {"CLIENT SETNAME me", "ERR "}}) {
        EXPECT_TRUE(error(line).starts_with(word)) << line << ": " << error(line);
    }
    EXPECT_EQ(redis->err, 0);
    EXPECT_EQ(ask("BF.ADD links a")->integer, 1);
}

// Clients for RESP3 begin so, and go on with RESP2 after any error.
TEST_F(Hiredis, HelloIsAnsweredInResp2) {
    for (const char *line : {"HELLO 3", "HELLO 4", "HELLO 3 AUTH default secret", "HELLO 2 SETNAME me"})
        EXPECT_FALSE(error(line).empty());
    EXPECT_TRUE(error("HELLO 3").starts_with("NOPROTO "));
    for (const char *line : {"HELLO", "HELLO 2"}) {
        const Reply hello = ask(line);
        ASSERT_EQ(hello->type, REDIS_REPLY_ARRAY);
        ASSERT_GE(hello->elements, 6u);
        EXPECT_EQ(std::string(hello->element[0]->str), "server");
        EXPECT_EQ(std::string(hello->element[1]->str), "shmbloomd");
    }
}

TEST_F(Hiredis, KeysAreBytesWhateverTheyHold) {
    create_live();
    std::string every(256, '\0');
    for (std::size_t i = 0; i < every.size(); i++)
        every[i] = static_cast<char>(i);
    const std::vector<std::string> keys{"", std::string(1, '\0'), std::string(2, '\0'), std::string("a\0b", 3),
                                        std::string("a\0c", 3), "a", "a\r\nb", "$3\r\n", every};
    for (const std::string &key : keys) {
        EXPECT_EQ(ask("BF.EXISTS links %b", key.data(), key.size())->integer, 0) << key.size() << " bytes: not a prefix";
        EXPECT_EQ(ask("BF.ADD links %b", key.data(), key.size())->integer, 1) << key.size();
        EXPECT_EQ(ask("BF.EXISTS links %b", key.data(), key.size())->integer, 1) << key.size();
    }
}

TEST_F(Hiredis, APipelineIsAnsweredInOrder) {
    constexpr std::uint64_t kCount = 10'000;
    create_live();
    for (std::uint64_t i = 0; i < kCount; i += 100) {
        append_adds(i, 100);
        ASSERT_EQ(redisAppendCommand(redis.get(), "PING %d", static_cast<int>(i)), REDIS_OK);
    }
    std::uint64_t fresh = 0;
    for (std::uint64_t i = 0; i < kCount; i += 100) {
        for (int j = 0; j < 100; j++)
            fresh += static_cast<std::uint64_t>(next()->integer);
        EXPECT_EQ(std::string(next()->str), std::to_string(i));
    }
    EXPECT_GE(fresh, kCount - 5); // some are taken for known, at the rate promised
    Worker worker = instance.worker();
    worker.open("links");
    EXPECT_EQ(worker.count("base62", 0, kCount).maybe, kCount);
}

// Each alone would wait for a disk of its own: a frame of the journal is what became durable together.
TEST_F(Hiredis, AddsOfAPipelineBecomeDurableTogether) {
    constexpr std::uint64_t kCount = 1000;
    create_live();
    append_adds(0, kCount);
    for (std::uint64_t i = 0; i < kCount; i++)
        ASSERT_EQ(next()->type, REDIS_REPLY_INTEGER);
    instance.stop();
    const Finished found = run({TestInstance::daemon_path(), "--runtime-dir", instance.runtime_dir(), "--state-dir",
                                instance.state_dir(), "--once", "check"});
    std::smatch frames;
    ASSERT_TRUE(std::regex_search(found.output, frames, std::regex{"(\\d+) frames"})) << found.output << found.log;
    EXPECT_GE(std::stoull(frames[1]), kCount / 256); // so many at least, with the limit of what runs ahead
    EXPECT_LE(std::stoull(frames[1]), kCount / 4);
}

// As an asynchronous client that has no more to say: everything that it sent counts, and is answered before the end.
TEST_F(Hiredis, AHalfClosedConnectionGetsEveryReply) {
    constexpr std::uint64_t kCount = 10'000;
    create_live();
    append_adds(0, kCount);
    write_all();
    ASSERT_EQ(::shutdown(redis->fd, SHUT_WR), 0);
    for (std::uint64_t i = 0; i < kCount; i++)
        ASSERT_EQ(next()->type, REDIS_REPLY_INTEGER) << i;
    EXPECT_NE(redisBufferRead(redis.get()), REDIS_OK);
    EXPECT_EQ(redis->err, REDIS_ERR_EOF);
    EXPECT_EQ(instance.info("links").at("adds_acknowledged"), std::to_string(kCount));
}

// More replies than the daemon keeps for one that does not read (1 MiB): the rest waits, and comes all the same.
TEST_F(Hiredis, AHalfClosedConnectionThatReadsLateGetsEveryReply) {
    constexpr int kCount = 4'000; // small requests whose replies are long: some 5 MB
    for (int i = 0; i < kCount; i++)
        ASSERT_EQ(redisAppendCommand(redis.get(), "COMMAND"), REDIS_OK);
    write_all();
    ASSERT_EQ(::shutdown(redis->fd, SHUT_WR), 0);
    EXPECT_EQ(instance.wire().call({"PING"}).text, "PONG"); // nobody else is held up
    for (int i = 0; i < kCount; i++)
        ASSERT_EQ(next()->type, REDIS_REPLY_ARRAY) << i;
    EXPECT_NE(redisBufferRead(redis.get()), REDIS_OK);
    EXPECT_EQ(redis->err, REDIS_ERR_EOF);
}

} // namespace
} // namespace shmbloom::test
