#include "service/dispatcher.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unistd.h>

#include "net/reply.h"
#include "service/info.h"
#include "service/names.h"
#include "shmbloom/version.h"
#include "store/doubt.h"
#include "sys/log.h"

namespace shmbloom {
namespace {

namespace reply = net::reply;

// One batch must not hold up the loop: 65,536 random adds take some 10 ms.
constexpr std::size_t kHashesMax = 65536;
// An overlap of a year is a mistake, not an overlap.
constexpr std::uint64_t kOverlapMaxSeconds = 365 * 86400;
constexpr std::uint64_t kOverlapDefaultSeconds = 3600;

bool is_word(std::string_view text, std::string_view upper_case) {
    return std::ranges::equal(text, upper_case, [](char a, char b) { return (a >= 'a' && a <= 'z' ? a - 'a' + 'A' : a) == b; });
}

std::string fields_reply(const Fields &fields) {
    std::string text = reply::array(fields.size() * 2);
    for (const auto &[name, value] : fields)
        text += reply::bulk(name) + (value ? reply::bulk(*value) : "$-1\r\n");
    return text;
}

std::string to_reply(const std::optional<Failure> &failure, std::string success) {
    return failure ? reply::error(failure->word, failure->text) : std::move(success);
}

std::string usage(std::string_view text) {
    return reply::error("ERR", "usage: " + std::string{text});
}

constexpr const char *kCreateUsage = "SB.CREATE name CAPACITY n FPR p [LAYOUT auto|classic|blocked] [NORMALIZE trim,lower] "
                                     "[KEYTYPE bytes|u64] [NOTHING-EXISTS-YET]";

// The options behind SB.CREATE's name. Returns what is wrong, or "".
std::string read_create_option(CreateRequest &request, std::string_view option, std::string_view value) {
    const auto bad = [&](const char *allowed) { return std::string{option} + " '" + std::string{value} + "' is not " + allowed; };
    if (is_word(option, "CAPACITY")) {
        const auto number = parse_unsigned(value);
        request.capacity = number.value_or(0);
        return number ? "" : bad("a whole number of keys, 1 to 2^40");
    }
    if (is_word(option, "FPR")) {
        const auto rate = parse_real(value);
        request.fpr = rate.value_or(0);
        return rate ? "" : bad("a rate from 1e-9 to 0.5");
    }
    if (is_word(option, "LAYOUT")) {
        request.layout = value;
        return geometry::parse_layout(value) ? "" : bad("auto, classic or blocked");
    }
    if (is_word(option, "NORMALIZE")) {
        const auto bits = parse_normalization(value);
        request.normalization = bits.value_or(0);
        return bits ? "" : bad("trim, lower or trim,lower");
    }
    if (is_word(option, "KEYTYPE")) {
        const auto type = parse_key_type(value);
        request.key_type = type.value_or(0);
        return type ? "" : bad("bytes or u64");
    }
    return "unknown option '" + std::string{option} + "'; usage: " + kCreateUsage;
}

} // namespace

struct Dispatcher::Command {
    std::string_view name;
    std::size_t least, most; // arguments, the name included
    bool admin;
    void (Dispatcher::*run)(const Call &);
    const char *usage;
};

const Dispatcher::Command *Dispatcher::find_command(std::string_view name) {
    static constexpr std::array<Command, 8> commands{
        {{"SB.ADDH", 4, 4, false, &Dispatcher::addh, "SB.ADDH name hash_domain hashes"},
         {"PING", 1, 2, false, &Dispatcher::ping, "PING [text]"},
         {"QUIT", 1, 1, false, &Dispatcher::quit, "QUIT"},
         {"HELLO", 1, 2, false, &Dispatcher::hello, "HELLO [2]"},
         {"SB.INFO", 1, 2, false, &Dispatcher::info, "SB.INFO [name]"},
         {"SB.CREATE", 6, 13, true, &Dispatcher::create, kCreateUsage},
         {"SB.DROP", 2, 2, true, &Dispatcher::drop, "SB.DROP name"},
         {"SB.LOAD", 3, 5, true, &Dispatcher::load, "SB.LOAD name BEGIN [OVERLAP seconds] | END [EXPECT n] | ABORT"}}};
    const auto found = std::ranges::find_if(commands, [&](const Command &command) { return is_word(name, command.name); });
    return found == commands.end() ? nullptr : &*found;
}

bool Dispatcher::is_admin(const net::Peer &peer) const {
    const auto group = options_.admin_group;
    return peer.uid == 0 || peer.uid == ::geteuid() ||
           (group && (peer.gid == *group || std::ranges::find(peer.groups, *group) != peer.groups.end()));
}

void Dispatcher::execute(net::SessionId session, const net::Peer &peer, const Arguments &arguments, Reply done) {
    const Command *const command = find_command(arguments[0]);
    if (command == nullptr)
        return done({reply::error("ERR", "unknown command '" + std::string{arguments[0].substr(0, 64)} +
                                             "'; known are PING QUIT HELLO SB.CREATE SB.DROP SB.INFO SB.ADDH SB.LOAD")});
    if (arguments.size() < command->least || arguments.size() > command->most)
        return done({usage(command->usage)});
    if (command->admin && !is_admin(peer))
        return done({reply::error("NOPERM", std::string{command->name} + " needs root, the user that shmbloomd runs as, or a "
                                            "member of its --admin-group")});
    try {
        (this->*command->run)({session, arguments, done});
    } catch (const std::system_error &error) {
        log::error(std::string{command->name} + " failed: " + error.what());
        done({reply::error("IO", error.what())});
    }
}

void Dispatcher::ping(const Call &call) {
    call.done({call.arguments.size() == 2 ? reply::bulk(call.arguments[1]) : reply::simple("PONG")});
}

void Dispatcher::quit(const Call &call) {
    call.done({reply::simple("OK"), true});
}

void Dispatcher::hello(const Call &call) {
    if (call.arguments.size() == 2 && call.arguments[1] != "2")
        return call.done({reply::error("NOPROTO", "only protocol version 2 (RESP2) is spoken here")});
    call.done({fields_reply({{"server", "shmbloomd"},
                             {"version", SHMBLOOM_VERSION},
                             {"proto", "2"},
                             {"format", std::to_string(SHMBLOOM_FORMAT_VERSION)},
                             {"instance", options_.instance},
                             {"control_uuid", to_string(instance_.control().uuid())},
                             {"state_uuid", to_string(instance_.registry().state_uuid)},
                             {"pid", std::to_string(::getpid())}})});
}

void Dispatcher::create(const Call &call) {
    CreateRequest request;
    request.name = call.arguments[1];
    for (std::size_t i = 2; i < call.arguments.size();) {
        if (is_word(call.arguments[i], "NOTHING-EXISTS-YET")) {
            request.nothing_exists_yet = true;
            i++;
            continue;
        }
        if (i + 1 == call.arguments.size())
            return call.done({reply::error("ERR", "'" + std::string{call.arguments[i]} + "' has no value; usage: " + kCreateUsage)});
        if (const std::string wrong = read_create_option(request, call.arguments[i], call.arguments[i + 1]); !wrong.empty())
            return call.done({reply::error("RANGE", wrong)});
        i += 2;
    }
    instance_.create(request, [this, done = call.done, name = request.name](const std::optional<Failure> &failure) {
        const Filter *const filter = failure ? nullptr : instance_.find(name);
        done({to_reply(failure, filter != nullptr ? info_reply(*filter) : reply::simple("OK"))});
    });
}

void Dispatcher::drop(const Call &call) {
    instance_.drop(std::string{call.arguments[1]}, [done = call.done](const std::optional<Failure> &failure) {
        done({to_reply(failure, reply::simple("OK"))});
    });
}

std::string Dispatcher::info_reply(const Filter &filter) const {
    return fields_reply(filter_info(filter, instance_.control(), instance_.registry()));
}

void Dispatcher::info(const Call &call) {
    if (call.arguments.size() == 2) {
        const Filter *const filter = instance_.find(call.arguments[1]);
        return call.done({filter != nullptr ? info_reply(*filter)
                                            : reply::error("NOTFOUND", "no filter '" + std::string{call.arguments[1].substr(0, 64)} +
                                                                           "'; 'SB.INFO' lists what there is")});
    }
    std::string text;
    std::size_t count = 0;
    for (const auto &[name, filter] : instance_.filters())
        if (filter->is_published()) {
            text += info_reply(*filter);
            count++;
        }
    call.done({reply::array(count) + text});
}

void Dispatcher::addh(const Call &call) {
    const auto hash_domain = parse_hex(call.arguments[2]);
    const std::string_view bytes = call.arguments[3];
    const std::size_t count = bytes.size() / 8;
    if (!hash_domain)
        return call.done({reply::error("RANGE", "hash_domain is 16 hexadecimal digits in lower case, as SB.INFO shows it")});
    if (bytes.size() % 8 != 0 || count == 0 || count > kHashesMax)
        return call.done({reply::error("RANGE", "hashes are 1 to " + std::to_string(kHashesMax) + " times 8 bytes, not " +
                                                    std::to_string(bytes.size()) + " bytes")});
    // The request's bytes have no alignment.
    std::vector<std::uint64_t> hashes(count);
    std::memcpy(hashes.data(), bytes.data(), bytes.size());
    std::string answers(count, '\2');
    const auto failure = instance_.add(call.session, call.arguments[1], *hash_domain, hashes,
                                       reinterpret_cast<std::uint8_t *>(answers.data()));
    call.done({to_reply(failure, reply::bulk(answers))});
}

void Dispatcher::load(const Call &call) {
    const std::string_view name = call.arguments[1];
    const std::string_view act = call.arguments[2];
    const bool has_option = call.arguments.size() == 5;
    const std::string_view option = has_option ? call.arguments[3] : "";
    const auto number = has_option ? parse_unsigned(call.arguments[4]) : std::nullopt;
    if (is_word(act, "ABORT") && call.arguments.size() == 3)
        return call.done({to_reply(instance_.abort_load(call.session, name), reply::simple("OK"))});
    if (is_word(act, "BEGIN") && (call.arguments.size() == 3 || is_word(option, "OVERLAP"))) {
        if (has_option && (!number || *number > kOverlapMaxSeconds))
            return call.done({reply::error("RANGE", "OVERLAP is 0 to " + std::to_string(kOverlapMaxSeconds) + " seconds")});
        return call.done({to_reply(instance_.begin_load(call.session, name, number.value_or(kOverlapDefaultSeconds)), reply::simple("OK"))});
    }
    if (is_word(act, "END") && (call.arguments.size() == 3 || is_word(option, "EXPECT"))) {
        if (has_option && !number)
            return call.done({reply::error("RANGE", "EXPECT is a whole number of keys")});
        return instance_.end_load(call.session, name, number,
                                  [this, done = call.done, name = std::string{name}](const std::optional<Failure> &failure, const LoadResult &result) {
                                      const Filter *const filter = instance_.find(name);
                                      const std::uint32_t doubts = filter == nullptr ? 0 : filter->gates(instance_.control()).doubts();
                                      done({to_reply(failure, fields_reply({{"live", filter != nullptr && doubts == 0 ? "1" : "0"},
                                                                            {"keys", std::to_string(result.keys)},
                                                                            {"doubts", join_names(kDoubtNames, doubts)},
                                                                            {"loads_open", std::to_string(result.loads_open)},
                                                                            {"spoiled", result.spoiled ? "1" : "0"}}))});
                                  });
    }
    call.done({usage("SB.LOAD name BEGIN [OVERLAP seconds] | END [EXPECT n] | ABORT")});
}

} // namespace shmbloom
