#include "service/dispatcher.h"

#include <unistd.h>

#include "service/replies.h"
#include "service/state.h"
#include "service/usages.h"
#include "shmbloom/version.h"
#include "sys/log.h"

namespace shmbloom {
namespace {

namespace reply = net::reply;

} // namespace

struct Dispatcher::Command {
    std::string_view name;
    std::size_t least, most; // arguments, the name included
    bool admin;              // changes more than bits
    void (Dispatcher::*run)(const Call &);
    std::string_view usage;
};

const std::vector<Dispatcher::Command> &Dispatcher::commands() {
    constexpr std::size_t many = SIZE_MAX;
    static const std::vector<Command> table{
        {"SB.ADDH", 4, 4, false, &Dispatcher::addh, "SB.ADDH name hash_domain hashes"},
        {"BF.EXISTS", 3, 3, false, &Dispatcher::bf_exists, "BF.EXISTS name key"},
        {"BF.MEXISTS", 3, many, false, &Dispatcher::bf_exists, "BF.MEXISTS name key [key ...]"},
        {"BF.ADD", 3, 3, false, &Dispatcher::bf_add, "BF.ADD name key"},
        {"BF.MADD", 3, many, false, &Dispatcher::bf_add, "BF.MADD name key [key ...]"},
        {"SB.REPORT", 5, 5, false, &Dispatcher::report, "SB.REPORT name hash_domain hash generation"},
        {"PING", 1, 2, false, &Dispatcher::ping, "PING [text]"},
        {"QUIT", 1, 1, false, &Dispatcher::quit, "QUIT"},
        {"HELLO", 1, 2, false, &Dispatcher::hello, "HELLO [2]"},
        {"COMMAND", 1, many, false, &Dispatcher::command, "COMMAND [COUNT|DOCS|INFO ...]"},
        {"SB.INFO", 1, 2, false, &Dispatcher::info, "SB.INFO [name]"},
        {"SB.STATE", 1, 1, false, &Dispatcher::state, "SB.STATE"},
        {"SB.CREATE", 6, 20, true, &Dispatcher::create, kCreateUsage},
        {"BF.RESERVE", 4, 7, true, &Dispatcher::reserve, kReserveUsage},
        {"SB.DROP", 2, 2, true, &Dispatcher::drop, "SB.DROP name"},
        {"SB.SNAPSHOT", 2, 2, true, &Dispatcher::snapshot, "SB.SNAPSHOT name|*"},
        {"SB.UNDROP", 1, 2, true, &Dispatcher::undrop, "SB.UNDROP [name]"},
        {"SB.IMPORT", 3, 3, true, &Dispatcher::import, "SB.IMPORT name file"},
        {"SB.JOURNAL", 4, 4, true, &Dispatcher::journal, "SB.JOURNAL name hash_domain hash"},
        {"SB.LOAD", 3, 5, true, &Dispatcher::load, kLoadUsage},
        {"SB.BULK", 4, 4, true, &Dispatcher::bulk, "SB.BULK name hash_domain hashes"},
        {"SB.REBUILD", 3, 15, true, &Dispatcher::rebuild, kRebuildUsage},
        {"SB.ROLLBACK", 2, 3, true, &Dispatcher::rollback, kRollbackUsage},
        {"SB.LIVE", 3, 4, true, &Dispatcher::live, kLiveUsage},
        {"SB.PAUSE", 2, many, true, &Dispatcher::pause, "SB.PAUSE name|* [why ...]"},
        {"SB.RESUME", 2, 2, true, &Dispatcher::resume, "SB.RESUME name|*"},
        {"SB.FORGETREADERS", 2, 2, true, &Dispatcher::forget_readers, "SB.FORGETREADERS name|*"}};
    return table;
}

const Dispatcher::Command *Dispatcher::find_command(std::string_view name) {
    const auto found =
        std::ranges::find_if(commands(), [&](const Command &command) { return is_word(name, command.name); });
    return found == commands().end() ? nullptr : &*found;
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
                                             "'; COMMAND lists what is known")});
    if (arguments.size() < command->least || arguments.size() > command->most)
        return done({usage_error(command->usage)});
    if (command->admin && !is_admin(peer))
        return done(
            {reply::error("NOPERM", std::string{command->name} + " needs root, the user that shmbloomd runs as, or a "
                                                                 "member of its --admin-group")});
    try {
        (this->*command->run)({session, peer, arguments, done});
    } catch (const std::system_error &error) {
        log::error(std::string{command->name} + " failed: " + error.what());
        done({reply::error("IO", error.what())});
    }
}

Instance::Done Dispatcher::reply_ok(const Call &call) const {
    return
        [done = call.done](const std::optional<Failure> &failure) { done({to_reply(failure, reply::simple("OK"))}); };
}

std::string Dispatcher::info_reply(const Filter &filter) const {
    Fields fields = filter_info(filter, instance_);
    const Fields generations = generations_info(filter, instance_);
    fields.insert(fields.end(), generations.begin(), generations.end());
    return fields_reply(fields);
}

void Dispatcher::ping(const Call &call) {
    call.reply(call.arguments.size() == 2 ? reply::bulk(call.arguments[1]) : reply::simple("PONG"));
}

void Dispatcher::quit(const Call &call) {
    call.done({reply::simple("OK"), true});
}

void Dispatcher::hello(const Call &call) {
    if (call.arguments.size() == 2 && call.arguments[1] != "2")
        return call.reply(reply::error("NOPROTO", "only protocol version 2 (RESP2) is spoken here"));
    call.reply(fields_reply({{"server", "shmbloomd"},
                             {"version", SHMBLOOM_VERSION},
                             {"proto", "2"},
                             {"format", std::to_string(SHMBLOOM_FORMAT_VERSION)},
                             {"instance", options_.instance},
                             {"control_uuid", to_string(instance_.control().uuid())},
                             {"state_uuid", to_string(instance_.registry().state_uuid)},
                             {"pid", std::to_string(::getpid())}}));
}

// What redis-cli asks for when it starts. Arity as Redis gives it: negative for "at least so many".
void Dispatcher::command(const Call &call) {
    if (call.arguments.size() > 1 && is_word(call.arguments[1], "COUNT"))
        return call.reply(reply::integer(static_cast<std::int64_t>(commands().size())));
    if (call.arguments.size() > 1)
        return call.reply(reply::array(0));
    std::string text = reply::array(commands().size());
    for (const Command &command : commands()) {
        std::string name{command.name};
        std::ranges::transform(name, name.begin(),
                               [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
        const auto least = static_cast<std::int64_t>(command.least);
        text += reply::array(3) + reply::bulk(name) + reply::integer(command.least == command.most ? least : -least) +
                reply::array(1) + reply::simple(command.admin ? "admin" : "fast");
    }
    call.reply(std::move(text));
}

void Dispatcher::info(const Call &call) {
    if (call.arguments.size() == 2) {
        const Filter *const filter = instance_.find(call.arguments[1]);
        return call.reply(filter != nullptr ? info_reply(*filter) : to_reply(not_found(call.arguments[1]), ""));
    }
    std::string text;
    std::size_t count = 0;
    for (const auto &[name, filter] : instance_.filters())
        if (filter->is_published()) {
            text += info_reply(*filter);
            count++;
        }
    call.reply(reply::array(count) + text);
}

void Dispatcher::state(const Call &call) {
    call.reply(fields_reply(instance_state(instance_, options_)));
}

} // namespace shmbloom
