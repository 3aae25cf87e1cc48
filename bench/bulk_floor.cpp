// What a bulk build cannot do without, alone. Used by rebuild_bench. Each prints seconds, but for `lines`.
//   bulk_floor lines FILE KEYS          writes a text file of so many different lines of at most 13 bytes
//   bulk_floor hash FILE                reads it from the page cache, splits its lines and hashes each
//   bulk_floor blocks KEYS FPR THREADS  sets four words each of as many random blocks as there are keys, in
//                                       new shared memory of a `blocked` filter of that size, mapped in before
//   bulk_floor set KEYS FPR THREADS     the bits of as many random hashes, as the daemon sets them in bulk
//   bulk_floor boost KEYS FPR           Boost.Bloom's bulk insert of as many
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

#include "bulk_peer.h"
#include "geometry/geometry.h"
#include "shmbloom/key.h"
#include "shmbloom/probe.h"
#include "store/segment.h"

namespace shmbloom::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kReadBytes = std::size_t{256} << 10; // stays in the second level of the cache
constexpr std::size_t kLineMax = 64;

// What a measurement must not let the compiler leave out.
volatile std::uint64_t sink;

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::uint64_t number(const char *text) {
    return static_cast<std::uint64_t>(std::strtod(text, nullptr)); // 1e8 as well
}

// Multiplying by an odd number is one to one in 39 bits: 12 digits at most, and no two lines the same.
void write_lines(const char *path, std::uint64_t keys) {
    std::FILE *file = std::fopen(path, "we");
    if (!file)
        throw std::system_error(errno, std::generic_category(), path);
    std::vector<char> block(kReadBytes);
    std::size_t size = 0;
    for (std::uint64_t i = 0; i < keys; i++) {
        const std::uint64_t key = (i * 0x9E3779B97F4A7C15 + 0x5DEECE66D) & ((std::uint64_t{1} << 39) - 1);
        char *const end = std::to_chars(&block[size], &block[size] + 20, key).ptr;
        *end = '\n';
        size = static_cast<std::size_t>(end + 1 - block.data());
        if (size + 32 > block.size() || i + 1 == keys)
            size -= std::fwrite(block.data(), 1, size, file);
    }
    if (std::fclose(file) != 0 || size != 0)
        throw std::system_error(errno, std::generic_category(), path);
}

double hash_lines(const char *path) {
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        throw std::system_error(errno, std::generic_category(), path);
    std::vector<char> buffer(kLineMax + kReadBytes);
    std::uint64_t sum = 0;
    std::size_t rest = 0; // of a line, at the buffer's beginning
    const auto begin = Clock::now();
    ssize_t n;
    while ((n = ::read(fd, buffer.data() + rest, kReadBytes)) > 0) {
        const char *at = buffer.data(), *const end = at + rest + n;
        while (const void *found = std::memchr(at, '\n', static_cast<std::size_t>(end - at))) {
            const char *const line_end = static_cast<const char *>(found);
            sum += shmbloom_hash_bytes(at, static_cast<std::size_t>(line_end - at), 0, 1);
            at = line_end + 1;
        }
        rest = static_cast<std::size_t>(end - at);
        if (rest > kLineMax)
            throw std::runtime_error("a line is too long for this");
        std::memmove(buffer.data(), at, rest);
    }
    const double seconds = seconds_since(begin);
    if (n < 0)
        throw std::system_error(errno, std::generic_category(), path);
    sink = sum;
    ::close(fd);
    return seconds;
}

// Random numbers cost two instructions here, so that nothing but the memory is measured.
void set_blocks(std::uint64_t *words, std::uint64_t blocks, std::uint64_t keys, std::uint64_t seed) {
    constexpr int kAhead = 16;
    std::uint64_t ahead = seed, now = seed;
    for (int i = 0; i < kAhead; i++) {
        ahead = shmbloom_next_probe(ahead);
        __builtin_prefetch(words + shmbloom_multiply_high(ahead, blocks) * 8, 1);
    }
    for (std::uint64_t i = 0; i < keys; i++) {
        ahead = shmbloom_next_probe(ahead);
        __builtin_prefetch(words + shmbloom_multiply_high(ahead, blocks) * 8, 1);
        now = shmbloom_next_probe(now);
        std::uint64_t *const block = words + shmbloom_multiply_high(now, blocks) * 8;
        const std::uint64_t mask = std::uint64_t{1} << (now >> 8 & 63);
        for (int word = 0; word < 8; word += 2)
            __atomic_fetch_or(block + word, mask, __ATOMIC_RELAXED);
    }
}

// A part on each thread: part(keys, seed).
double in_parts(std::uint64_t keys, unsigned threads, const std::function<void(std::uint64_t, std::uint64_t)> &part) {
    std::vector<std::thread> others;
    const auto begin = Clock::now();
    for (unsigned i = 1; i < threads; i++)
        others.emplace_back(part, keys / threads, i + 1);
    part(keys / threads, 1);
    for (std::thread &other : others)
        other.join();
    return seconds_since(begin);
}

void map_in(std::uint64_t *words, std::uint64_t count) {
    for (std::size_t i = 0; i < count; i += 512)
        __atomic_store_n(words + i, 0, __ATOMIC_RELAXED);
}

// Its name is gone at once, so that nothing is left behind by who is killed.
std::unique_ptr<Segment> make_segment(std::uint64_t keys, double fpr) {
    const auto plan = geometry::plan(keys, fpr, geometry::LayoutChoice::blocked);
    if (const auto *error = std::get_if<std::string>(&plan))
        throw std::invalid_argument(*error);
    SegmentIdentity identity;
    identity.filter_uuid = identity.state_uuid = Uuid::random();
    identity.generation = 1;
    identity.shape = std::get<geometry::Geometry>(plan).shape;
    auto segment = std::make_unique<Segment>(Segment::Create{}, identity);
    remove_shared_memory(segment->name(), segment->id());
    map_in(segment->words(), segment->bits_bytes() / 8);
    return segment;
}

double set_words(std::uint64_t keys, double fpr, unsigned threads) {
    const auto segment = make_segment(keys, fpr);
    std::uint64_t *const words = segment->words();
    const std::uint64_t blocks = segment->identity().shape.size;
    return in_parts(keys, threads,
                    [&](std::uint64_t count, std::uint64_t seed) { set_blocks(words, blocks, count, seed); });
}

// Hashes are made block by block, in the cache, as they come off a connection; that is a nanosecond of it.
double set_in_bulk(std::uint64_t keys, double fpr, unsigned threads) {
    const auto segment = make_segment(keys, fpr);
    return in_parts(keys, threads, [&](std::uint64_t count, std::uint64_t seed) {
        std::vector<std::uint64_t> hashes(16384);
        for (std::uint64_t done = 0; done < count; done += hashes.size()) {
            for (std::uint64_t &hash : hashes)
                hash = seed = shmbloom_next_probe(seed);
            sink = segment->set(hashes);
        }
    });
}

int run(int argc, char **argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "lines" && argc == 4)
        write_lines(argv[2], number(argv[3]));
    else if (what == "hash" && argc == 3)
        std::printf("%.6f\n", hash_lines(argv[2]));
    else if ((what == "blocks" || what == "set") && argc == 5)
        std::printf("%.6f\n", (what == "set" ? set_in_bulk : set_words)(number(argv[2]), std::strtod(argv[3], nullptr),
                                                                        static_cast<unsigned>(number(argv[4]))));
    else if (what == "boost" && argc == 4)
        std::printf("%.6f\n", insert_with_boost(number(argv[2]), std::strtod(argv[3], nullptr)));
    else {
        std::fputs("bulk_floor lines FILE KEYS | hash FILE | blocks KEYS FPR THREADS | set KEYS FPR THREADS | "
                   "boost KEYS FPR\n",
                   stderr);
        return 3;
    }
    return 0;
}

} // namespace
} // namespace shmbloom::bench

int main(int argc, char **argv) {
    try {
        return shmbloom::bench::run(argc, argv);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "bulk_floor: %s\n", error.what());
        return 1;
    }
}
