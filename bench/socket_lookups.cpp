// One client of a server that speaks the protocol of Redis, over its Unix socket, by hiredis:
//     socket_lookups SOCKET COMMAND NAME BATCH PIPELINE SECONDS KEYS    prints nanoseconds a key: COMMAND NAME KEY...,
//     with
//                                                                       BATCH keys each and PIPELINE of them under way
//     socket_lookups SOCKET COMMAND NAME fill KEYS                      the numbers below KEYS, by COMMAND NAME KEY...
// Keys are numbers below twice KEYS: half are there. Used by process_bench.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <hiredis.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "number_keys.h"

namespace shmbloom::bench {
namespace {

constexpr std::size_t kKeys = std::size_t{1} << 19;

double now() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

class Client {
  public:
    Client(const char *socket, std::string command, std::string name)
        : context_{redisConnectUnix(socket)}, command_{std::move(command)}, name_{std::move(name)} {
        if (context_ == nullptr || context_->err != 0)
            throw std::runtime_error(context_ == nullptr ? "no memory" : context_->errstr);
    }
    ~Client() { redisFree(context_); }
    Client(const Client &) = delete;
    Client &operator=(const Client &) = delete;

    void ask(const std::string_view *keys, std::size_t count) {
        words_ = {command_.data(), name_.data()};
        sizes_ = {command_.size(), name_.size()};
        for (std::size_t i = 0; i < count; i++) {
            words_.push_back(keys[i].data());
            sizes_.push_back(keys[i].size());
        }
        redisAppendCommandArgv(context_, static_cast<int>(words_.size()), words_.data(), sizes_.data());
    }
    void take_reply() {
        void *got = nullptr;
        if (redisGetReply(context_, &got) != REDIS_OK)
            throw std::runtime_error(context_->errstr);
        auto *const reply = static_cast<redisReply *>(got);
        const std::string error = reply->type == REDIS_REPLY_ERROR ? reply->str : "";
        freeReplyObject(reply);
        if (!error.empty())
            throw std::runtime_error(error);
    }

  private:
    redisContext *context_;
    const std::string command_, name_;
    std::vector<const char *> words_;
    std::vector<std::size_t> sizes_;
};

void fill(Client &client, std::uint64_t count) {
    constexpr std::uint64_t kBatch = 1000;
    for (std::uint64_t at = 0; at < count; at += kBatch) {
        const NumberKeys numbers{at, std::min(kBatch, count - at)};
        client.ask(numbers.keys().data(), numbers.keys().size());
        client.take_reply();
    }
}

double measure(Client &client, std::size_t batch, std::size_t pipeline, double seconds, std::uint64_t keys) {
    const NumberKeys numbers{kKeys, 2 * keys, static_cast<std::uint64_t>(now() * 1e9)};
    std::uint64_t asked = 0;
    const double began = now();
    double ended = began;
    for (std::size_t at = 0; ended < began + seconds; ended = now()) {
        for (std::size_t i = 0; i < pipeline; i++, at += batch) {
            if (at + batch > kKeys)
                at = 0;
            client.ask(&numbers.keys()[at], batch);
        }
        for (std::size_t i = 0; i < pipeline; i++)
            client.take_reply();
        asked += batch * pipeline;
    }
    return (ended - began) * 1e9 / static_cast<double>(asked);
}

int run(int argc, char **argv) {
    if (argc != 8 && !(argc == 6 && argv[4] == std::string_view{"fill"})) {
        std::fputs("socket_lookups SOCKET COMMAND NAME (BATCH PIPELINE SECONDS KEYS | fill KEYS)\n", stderr);
        return 3;
    }
    Client client{argv[1], argv[2], argv[3]};
    if (argc == 6)
        fill(client, std::strtoull(argv[5], nullptr, 10));
    else
        std::printf("ns %.3f\n",
                    measure(client, std::strtoull(argv[4], nullptr, 10), std::strtoull(argv[5], nullptr, 10),
                            std::strtod(argv[6], nullptr), std::strtoull(argv[7], nullptr, 10)));
    return 0;
}

} // namespace
} // namespace shmbloom::bench

int main(int argc, char **argv) {
    try {
        return shmbloom::bench::run(argc, argv);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "socket_lookups: %s\n", error.what());
        return 1;
    }
}
