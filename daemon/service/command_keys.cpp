// Commands that bring keys or their hashes: SB.ADDH, SB.REPORT, BF.ADD, BF.MADD, BF.EXISTS, BF.MEXISTS.
#include <cstring>

#include "service/dispatcher.h"
#include "service/names.h"
#include "service/replies.h"
#include "shmbloom/key.h"

namespace shmbloom {
namespace {

namespace reply = net::reply;

// One batch must not hold up the loop: so many random adds take some 10 ms.
constexpr std::size_t kHashesMax = 65536;

std::optional<Failure> hash_key(const Filter &filter, std::uint64_t seed, std::string_view key, std::uint64_t *hash) {
    const FilterRecord &record = filter.record;
    std::uint64_t number = 0;
    if (key.size() > SHMBLOOM_KEY_MAX_BYTES)
        return Failure{"RANGE", "a key has at most " + std::to_string(SHMBLOOM_KEY_MAX_BYTES) + " bytes"};
    if (record.key_type == SHMBLOOM_KEY_TYPE_BYTES)
        *hash = shmbloom_hash_bytes(key.data(), key.size(), record.normalization, seed);
    else if (shmbloom_parse_number(key.data(), key.size(), record.normalization, &number) != 0)
        *hash = shmbloom_hash_number(number, seed);
    else
        return Failure{"RANGE", "filter '" + record.name +
                                    "' has key type u64: a key is 1 to 20 digits, below 2^64, not '" +
                                    std::string{key.substr(0, 64)} + "'"};
    return std::nullopt;
}

// Hashes of the keys from arguments[2] on; all or none.
std::optional<Failure> hash_keys(const Filter &filter, std::uint64_t seed,
                                 const std::vector<std::string_view> &arguments, std::vector<std::uint64_t> &hashes) {
    hashes.resize(arguments.size() - 2);
    if (hashes.size() > kHashesMax)
        return Failure{"RANGE", "at most " + std::to_string(kHashesMax) + " keys a command"};
    for (std::size_t i = 0; i < hashes.size(); i++)
        if (auto failure = hash_key(filter, seed, arguments[i + 2], &hashes[i]))
            return failure;
    return std::nullopt;
}

// One answer as an integer, several as an array of integers.
std::string integers(std::string_view command, std::string_view answers) {
    if (!is_word(command, "BF.MADD") && !is_word(command, "BF.MEXISTS"))
        return reply::integer(answers[0]);
    std::string text = reply::array(answers.size());
    for (const char answer : answers)
        text += reply::integer(answer);
    return text;
}

Failure bad_domain() {
    return {"RANGE", "hash_domain and hash are 16 hexadecimal digits in lower case, as SB.INFO shows hash_domain"};
}

} // namespace

std::optional<Failure> read_hashes(std::string_view domain, std::string_view bytes, std::uint64_t *ret_domain,
                                   std::vector<std::uint64_t> &hashes) {
    const auto hash_domain = parse_hex(domain);
    if (!hash_domain)
        return bad_domain();
    const std::size_t count = bytes.size() / 8;
    if (bytes.size() % 8 != 0 || count == 0 || count > kHashesMax)
        return Failure{"RANGE", "hashes are 1 to " + std::to_string(kHashesMax) + " times 8 bytes, not " +
                                    std::to_string(bytes.size()) + " bytes"};
    *ret_domain = *hash_domain;
    // The request's bytes have no alignment.
    hashes.resize(count);
    std::memcpy(hashes.data(), bytes.data(), bytes.size());
    return std::nullopt;
}

void Dispatcher::addh(const Call &call) {
    std::uint64_t hash_domain = 0;
    std::vector<std::uint64_t> hashes;
    if (const auto failure = read_hashes(call.arguments[2], call.arguments[3], &hash_domain, hashes))
        return call.reply(to_reply(failure, ""));
    instance_.add(call.session, call.arguments[1], hash_domain, hashes,
                  [done = call.done](const std::optional<Failure> &failure, const std::string &answers) {
                      done({to_reply(failure, reply::bulk(answers))});
                  });
}

void Dispatcher::bulk(const Call &call) {
    std::uint64_t hash_domain = 0;
    std::vector<std::uint64_t> hashes;
    if (const auto failure = read_hashes(call.arguments[2], call.arguments[3], &hash_domain, hashes))
        return call.reply(to_reply(failure, ""));
    instance_.bulk(call.session, call.arguments[1], hash_domain, std::move(hashes),
                   [done = call.done](const std::optional<Failure> &failure, const Instance::BulkCounts &counts) {
                       std::string text = reply::array(counts.size());
                       for (const std::uint64_t count : counts)
                           text += reply::integer(static_cast<std::int64_t>(count));
                       done({to_reply(failure, std::move(text))});
                   });
}

void Dispatcher::report(const Call &call) {
    const auto hash_domain = parse_hex(call.arguments[2]);
    const auto hash = parse_hex(call.arguments[3]);
    const auto generation = parse_unsigned(call.arguments[4]);
    if (!hash_domain || !hash || !generation)
        return call.reply(to_reply(bad_domain(), ""));
    instance_.report_wrong_absent(call.session, call.arguments[1], *hash_domain, *hash, *generation,
                                  [done = call.done](const std::optional<Failure> &failure, const std::string &answers) {
                                      done({to_reply(failure, failure ? "" : reply::integer(answers[0]))});
                                  });
}

void Dispatcher::bf_add(const Call &call) {
    const Filter *const filter = instance_.find(call.arguments[1]);
    if (filter == nullptr)
        return call.reply(to_reply(not_found(call.arguments[1]), ""));
    std::vector<std::uint64_t> hashes;
    if (const auto failure = hash_keys(*filter, instance_.registry().seed, call.arguments, hashes))
        return call.reply(to_reply(failure, ""));
    instance_.add(call.session, call.arguments[1], instance_.hash_domain(*filter), hashes,
                  [done = call.done, command = std::string{call.arguments[0]}](const std::optional<Failure> &failure,
                                                                               std::string answers) {
                      // 1 only where the key is certainly new.
                      for (char &answer : answers)
                          answer = answer == 0 ? 1 : 0;
                      done({to_reply(failure, failure ? "" : integers(command, answers))});
                  });
}

// 1 while the filter is in doubt: this protocol has no word for "unverified".
void Dispatcher::bf_exists(const Call &call) {
    Filter *const filter = instance_.find(call.arguments[1]);
    if (filter == nullptr)
        return call.reply(to_reply(not_found(call.arguments[1]), ""));
    std::vector<std::uint64_t> hashes;
    const auto failure = hash_keys(*filter, instance_.registry().seed, call.arguments, hashes);
    std::string answers(hashes.size(), '\1');
    if (!failure && filter->segment && filter->gates(instance_.control()).doubts() == 0)
        filter->segment->contain(hashes, reinterpret_cast<std::uint8_t *>(answers.data()));
    call.reply(to_reply(failure, failure ? "" : integers(call.arguments[0], answers)));
}

} // namespace shmbloom
