#include "lane.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "internal.h"

namespace shmbloom::test {
namespace {

// Added keys lie from 0 on, absent ones from here on: below the number of pairs of words, above every added key.
constexpr std::uint64_t kFirstAbsent = std::uint64_t{1} << 33;

std::string number(double value) {
    std::ostringstream text;
    text.precision(17);
    text << value;
    return text.str();
}

} // namespace

Lane::Lane(const std::string &runtime_dir, std::string name, const rate_words &words)
    : runtime_dir_{runtime_dir}, name_{std::move(name)}, words_{words}, worker_{
                                                                            {RATE_WORKER_PATH},
                                                                            {{"SHMBLOOM_RUNTIME_DIR", runtime_dir}}} {
    for (std::uint64_t i = 0; i < kAtOnce; i++)
        wires_.emplace_back(runtime_dir);
}

void Lane::call_all(const std::vector<std::vector<std::string>> &commands) {
    for (std::size_t i = 0; i < commands.size(); i++)
        wires_[i].send({commands[i].begin(), commands[i].end()});
    for (std::size_t i = 0; i < commands.size(); i++)
        if (const Wire::Reply reply = wires_[i].receive(); reply.is_error())
            throw std::runtime_error{commands[i][0] + ": " + reply.text};
}

void Lane::fill(const std::string &filter, const Cell &cell, std::uint64_t set) {
    shmbloom_options options{};
    options.struct_size = sizeof options;
    options.runtime_dir = runtime_dir_.c_str();
    options.add_timeout_ms = 60'000;
    shmbloom_filter *handle = nullptr;
    shmbloom__hashing hashing;
    int r = shmbloom_open(&handle, filter.c_str(), &options);
    if (r == 0)
        r = shmbloom__get_hashing(handle, &hashing);
    std::vector<std::uint64_t> hashes;
    std::vector<std::uint8_t> answers(SHMBLOOM__ADD_BATCH);
    char key[RATE_KEY_MAX_BYTES];
    const std::uint64_t end = (set + 1) * cell.n;
    for (std::uint64_t i = set * cell.n; r == 0 && i < end;) {
        hashes.resize(std::min<std::uint64_t>(SHMBLOOM__ADD_BATCH, end - i));
        for (std::uint64_t &hash : hashes) {
            r |= cell.kind == RATE_U64 ? shmbloom__hash_u64(&hashing, rate_mix(i + 1), &hash)
                                       : shmbloom__hash(&hashing, key, rate_key(key, cell.kind, &words_, i), &hash);
            i++;
        }
        if (r == 0)
            r = shmbloom__add_hashes(handle, hashing.hash_domain, hashes.data(), hashes.size(), answers.data());
    }
    shmbloom_close(handle);
    if (r != 0)
        throw std::runtime_error{"adding to " + filter + ": " + shmbloom_strerror(r)};
}

std::vector<SetResult> Lane::run(const Cell &cell, std::uint64_t first, std::uint64_t count) {
    std::vector<std::vector<std::string>> creates, drops;
    for (std::uint64_t i = 0; i < count; i++) {
        const std::string filter = name_ + std::to_string(i);
        creates.push_back({"SB.CREATE", filter, "CAPACITY", std::to_string(cell.n), "FPR", number(cell.p), "LAYOUT",
                           cell.layout, "KEYTYPE", cell.kind == RATE_U64 ? "u64" : "bytes", "NOTHING-EXISTS-YET"});
        drops.push_back({"SB.DROP", filter});
    }
    call_all(creates);
    std::vector<SetResult> results(count);
    for (std::uint64_t i = 0; i < count; i++) {
        fill(creates[i][1], cell, first + i);
        std::ostringstream ask;
        ask << creates[i][1] << ' ' << cell.kind << ' ' << (first + i) * cell.n << ' ' << cell.n << ' '
            << kFirstAbsent + (first + i) * cell.absent_per_set << ' ' << cell.absent_per_set << '\n';
        worker_.write(ask.str());
    }
    for (SetResult &result : results) {
        const std::string line = worker_.read_line(1200).value_or("the worker ended");
        if (std::istringstream text{line}; !(text >> result.missing >> result.unverified >> result.false_positives))
            throw std::runtime_error{line};
    }
    call_all(drops);
    return results;
}

} // namespace shmbloom::test
