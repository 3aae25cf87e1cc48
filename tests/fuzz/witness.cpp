#include "witness.h"

#include <algorithm>
#include <cstring>
#include <unistd.h>

#include "choices.h"
#include "service/names.h"
#include "service/replies.h"
#include "shmbloom/key.h"

namespace shmbloom {
namespace {

constexpr std::uint32_t kWarming = SHMBLOOM_DOUBT_WARMING;
constexpr std::uint32_t kLost = SHMBLOOM_DOUBT_LOSSY | SHMBLOOM_DOUBT_DAMAGED;

std::string in_capitals(std::string_view text) {
    std::string capitals{text};
    std::ranges::transform(capitals, capitals.begin(),
                           [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    return capitals;
}

bool is_word_at(const std::vector<std::string> &arguments, std::size_t i, std::string_view word) {
    return i < arguments.size() && is_word(arguments[i], word);
}

// Larger than what can be made thousands of times. Up to here 43 bits a key, for the smallest rate, are 11 KB.
bool is_large(const std::vector<std::string> &arguments) {
    const auto exceeds = [](const std::string &text) { return parse_unsigned(text).value_or(0) > 2000; };
    if (arguments[0] == "BF.RESERVE" && arguments.size() > 3)
        return exceeds(arguments[3]);
    for (std::size_t i = 2; (arguments[0] == "SB.CREATE" || arguments[0] == "SB.REBUILD") && i + 1 < arguments.size();
         i++)
        if (is_word(arguments[i], "CAPACITY") && exceeds(arguments[i + 1]))
            return true;
    return false;
}

bool makes(const std::vector<std::string> &arguments) {
    return arguments.size() > 1 && (arguments[0] == "SB.CREATE" || arguments[0] == "BF.RESERVE" ||
                                    arguments[0] == "SB.UNDROP" || arguments[0] == "SB.IMPORT");
}

bool is_declared_empty(const std::vector<std::string> &arguments) {
    return arguments[0] == "SB.CREATE" && std::ranges::any_of(arguments, [](const std::string &argument) {
               return is_word(argument, "NOTHING-EXISTS-YET");
           });
}

} // namespace

void Witness::execute(net::SessionId session, const net::Peer &peer, const Arguments &arguments,
                      Dispatcher::Reply done) {
    look();
    const auto command = under_way_.emplace(under_way_.end());
    command->session = session;
    command->arguments.assign(arguments.begin(), arguments.end());
    command->arguments[0] = in_capitals(arguments[0]);
    command->may_end = peer.uid == ::geteuid() ? may_end(*command) : 0;
    command->is_large = is_large(command->arguments);
    if (command->is_large)
        daemon_.leave_no_room(true);
    if (Known *const known = arguments.size() > 1 ? find(command->arguments[1]) : nullptr) {
        command->number = known->number;
        command->rebuilds = known->rebuilds.begun;
        before_switch(*command, *known);
    }
    const auto is_done = std::make_shared<bool>(false);
    daemon_.dispatcher().execute(session, peer, arguments,
                                 [this, command, done = std::move(done), is_done](net::Response response) {
                                     require(!std::exchange(*is_done, true), "a command is replied to once");
                                     std::string_view bytes = response.bytes;
                                     const auto reply = read_reply(bytes);
                                     require(reply.has_value() && bytes.empty(), "a reply is one reply");
                                     look();
                                     replied(*command, *reply);
                                     under_way_.erase(command);
                                     daemon_.leave_no_room(std::ranges::any_of(under_way_, &UnderWay::is_large));
                                     done(std::move(response));
                                 });
    if (!*is_done)
        command->is_late = true;
    look();
}

void Witness::closed(net::SessionId session) {
    daemon_.dispatcher().closed(session);
    for (auto &[name, known] : known_) {
        if (known.loads.erase(session) != 0)
            known.spoiled = true;
        known.bulk.erase(session);
    }
    look();
}

Witness::Known *Witness::find(const std::string &name) {
    const auto found = known_.find(name);
    return found == known_.end() ? nullptr : &found->second;
}

// The doubts of a filter that this command may end, by what protocol.md says of it.
std::uint32_t Witness::may_end(const UnderWay &command) const {
    const std::string &verb = command.arguments[0];
    const std::size_t count = command.arguments.size();
    if (verb == "SB.RESUME" && count == 2)
        return SHMBLOOM_DOUBT_PAUSED;
    if (verb == "SB.LIVE" && count == 3 && is_word_at(command.arguments, 2, "FORCE"))
        return kWarming | kLost;
    if (verb == "SB.LIVE" && count == 4 && is_word_at(command.arguments, 2, "EXPECT"))
        return kWarming;
    if (verb == "SB.REBUILD" && is_word_at(command.arguments, 2, "END"))
        return kWarming | kLost;
    if (verb != "SB.LOAD" || !is_word_at(command.arguments, 2, "END"))
        return 0;
    const auto known = known_.find(command.arguments[1]);
    if (known == known_.end() || known->second.spoiled || known->second.loads.size() != 1)
        return 0;
    const auto load = known->second.loads.find(command.session);
    return load != known->second.loads.end() && load->second != 0 ? kWarming | kLost : 0;
}

bool Witness::is_allowed(const std::string &name, const char *verb) const {
    return std::ranges::any_of(under_way_, [&](const UnderWay &command) {
        return command.arguments.size() > 1 && command.arguments[1] == name && command.arguments[0] == verb;
    });
}

void Witness::check_doubts(const std::string &name, const Filter &filter, Known &known) const {
    const std::uint32_t doubts = filter.gates(daemon_.instance().control()).doubts();
    std::uint32_t allowed = 0;
    for (const UnderWay &command : under_way_)
        if (command.may_end != 0 && (command.arguments[1] == name || command.arguments[1] == "*"))
            allowed |= command.may_end;
    require((known.doubts & ~doubts & ~allowed) == 0, "a doubt ends only by a command that may end it");
    require((filter.record.doubt_bits() & ~doubts) == 0, "no gate is more certain than the registry");
    known.doubts = doubts;
}

// What a filter that was not here a moment ago must begin with.
std::uint32_t Witness::doubts_of_new(const std::string &name) const {
    const auto made = std::ranges::find_if(
        under_way_, [&](const UnderWay &command) { return makes(command.arguments) && command.arguments[1] == name; });
    require(made != under_way_.end(), "a filter comes only by a create, an undrop or an import");
    if (made->arguments[0] == "SB.UNDROP")
        return SHMBLOOM_DOUBT_LOSSY;
    return is_declared_empty(made->arguments) ? 0 : kWarming;
}

void Witness::look() {
    const Filters &filters = daemon_.instance().filters();
    std::erase_if(known_, [&](const auto &entry) {
        const bool is_gone = daemon_.instance().find(entry.first) == nullptr;
        require(!is_gone || is_allowed(entry.first, "SB.DROP"), "a filter goes only by a drop");
        return is_gone;
    });
    for (const auto &[name, filter] : filters) {
        if (!filter->is_published())
            continue;
        const auto [known, is_new] = known_.try_emplace(name);
        if (is_new) {
            known->second.number = filter->record.number;
            known->second.doubts = doubts_of_new(name);
        }
        require(known->second.number == filter->record.number, "a filter of the same name is the same filter");
        check_doubts(name, *filter, known->second);
    }
}

// A change that comes last: when it is on the disk, everything before it is.
void Witness::wait_for_the_disk() {
    bool is_done = false;
    daemon_.instance().forget_readers("*", [&](const std::optional<Failure> &failure) {
        require(!failure, "the disk does not fail");
        is_done = true;
    });
    while (!is_done)
        daemon_.take_one();
}

void Witness::look_at_memory() {
    wait_for_the_disk();
    const Registry written = daemon_.read_registry();
    require(written.filters.size() >= known_.size(), "the disk knows every filter");
    for (const auto &[name, known] : known_) {
        const Filter &filter = *daemon_.instance().find(name);
        const Gates gates = filter.gates(daemon_.instance().control());
        require(generation_of(*gates.control) == filter.record.generation &&
                    generation_of(*gates.segment) == filter.record.generation,
                "both gates name the generation");
        for (const std::uint64_t hash : known.hashes)
            require(filter.segment->contains(hash), "an acknowledged key is in the bits");
        const auto record = std::ranges::find(written.filters, name, &FilterRecord::name);
        require(record != written.filters.end() && record->generation == filter.record.generation &&
                    record->doubt_bits() == filter.record.doubt_bits(),
                "the disk says what the daemon says");
    }
}

void Witness::restart() {
    wait_for_the_disk();
    daemon_.restart();
    for (auto &[name, known] : known_) {
        require(daemon_.instance().find(name) != nullptr, "a filter outlives the daemon");
        known.loads.clear(); // they belonged to its connections
        known.bulk.clear();
    }
    look();
    look_at_memory();
}

void Witness::replied(const UnderWay &command, const ReadReply &reply) {
    const std::string &verb = command.arguments[0];
    Known *const known = command.arguments.size() > 1 ? find(command.arguments[1]) : nullptr;
    if (known == nullptr || known->number != command.number)
        return;
    if (verb == "SB.LOAD")
        return load_replied(command, reply, *known);
    if (verb == "SB.REBUILD" || verb == "SB.ROLLBACK")
        return rebuild_replied(command, reply, *known);
    if (reply.is_error())
        return;
    if (verb == "BF.ADD" || verb == "BF.MADD" || verb == "BF.EXISTS" || verb == "BF.MEXISTS")
        keys_replied(command, reply, *known);
    if (verb == "SB.BULK")
        bulk_replied(command, reply, *known);
    if (verb == "SB.ADDH" || verb == "SB.REPORT")
        hashes_replied(command, reply, *known);
}

void Witness::load_replied(const UnderWay &command, const ReadReply &reply, Known &known) {
    if (is_word_at(command.arguments, 2, "BEGIN") && !reply.is_error()) {
        if (known.loads.empty())
            known.spoiled = false;
        known.loads[command.session] = 0;
        return;
    }
    const bool is_open = daemon_.instance().find(command.arguments[1])->loads.is_open(command.session);
    if (is_open || known.loads.erase(command.session) == 0)
        return;
    const std::set<std::uint64_t> bulk = std::exchange(known.bulk[command.session], {});
    if (!reply.is_error() && is_word_at(command.arguments, 2, "END"))
        known.hashes.insert(bulk.begin(), bulk.end());
    // An END that is refused for its keys counts as aborted; one that met another change does not.
    if (is_word_at(command.arguments, 2, "ABORT") || reply.text.starts_with("RANGE"))
        known.spoiled = true;
}

// `answer`: what the reply says of the moment before, as SB.ADDH does.
void Witness::added(const UnderWay &command, std::uint64_t hash, std::int64_t answer, Known &known) {
    require(answer == 0 || answer == 1 || answer == 2, "an answer is 0, 1 or 2");
    if (!command.is_late) {
        require((answer == 2) == (known.doubts != 0), "an answer is 2 while the filter is in doubt, and only then");
        require(answer != 0 || !known.hashes.contains(hash), "an acknowledged key is never absent");
    }
    known.hashes.insert(hash);
    if (command.rebuilds == known.rebuilds.begun)
        known.rebuilds.since_begun.insert(hash);
    if (const auto load = known.loads.find(command.session); load != known.loads.end())
        load->second++;
}

void Witness::keys_replied(const UnderWay &command, const ReadReply &reply, Known &known) {
    const std::string &verb = command.arguments[0];
    const FilterRecord &record = daemon_.instance().find(command.arguments[1])->record;
    const bool is_batch = verb == "BF.MADD" || verb == "BF.MEXISTS";
    const bool is_add = verb == "BF.ADD" || verb == "BF.MADD";
    require(reply.type == (is_batch ? '*' : ':'), "one answer is an integer, a batch an array");
    require(!is_batch || reply.elements.size() == command.arguments.size() - 2, "every key has its answer");
    for (std::size_t i = 2; i < command.arguments.size(); i++) {
        const ReadReply &answer = is_batch ? reply.elements[i - 2] : reply;
        const std::string &key = command.arguments[i];
        const std::uint64_t seed = daemon_.instance().registry().seed;
        std::uint64_t number = 0;
        if (record.key_type == SHMBLOOM_KEY_TYPE_U64)
            require(shmbloom_parse_number(key.data(), key.size(), record.normalization, &number) != 0,
                    "what is no number is refused");
        const std::uint64_t hash = record.key_type == SHMBLOOM_KEY_TYPE_U64
                                       ? shmbloom_hash_number(number, seed)
                                       : shmbloom_hash_bytes(key.data(), key.size(), record.normalization, seed);
        require(answer.type == ':' && (answer.number == 0 || answer.number == 1), "an answer is 0 or 1");
        if (is_add) {
            added(command, hash, known.doubts != 0 ? 2 : answer.number == 1 ? 0 : 1, known);
            require(command.is_late || known.doubts == 0 || answer.number == 0,
                    "nothing is certainly new while the filter is in doubt");
        } else {
            require(answer.number == 1 || (known.doubts == 0 && !known.hashes.contains(hash)),
                    "absent is said of a live filter and a key that was never acknowledged");
        }
    }
}

void Witness::hashes_replied(const UnderWay &command, const ReadReply &reply, Known &known) {
    if (command.arguments[0] == "SB.REPORT") {
        // Which may pause the filter, after the answer was found.
        if (known.doubts != 0 && reply.number != 2)
            require(known.doubts == SHMBLOOM_DOUBT_PAUSED, "only a pause comes by a report");
        const std::uint32_t now = std::exchange(known.doubts, reply.number == 2 ? known.doubts : 0);
        added(command, parse_hex(command.arguments[3]).value(), reply.number, known);
        known.doubts = now;
        return;
    }
    const std::string &hashes = command.arguments[3];
    require(reply.type == '$' && reply.text.size() * 8 == hashes.size(), "every hash has its answer");
    for (std::size_t i = 0; i < reply.text.size(); i++) {
        std::uint64_t hash = 0;
        std::memcpy(&hash, hashes.data() + i * 8, 8);
        added(command, hash, reply.text[i], known);
    }
}

} // namespace shmbloom
