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
    enum Kind { kPlain, kAdd, kAdmin }; // kAdmin: changes more than bits
    std::string_view name;
    std::size_t least, most; // arguments, the name included
    Kind kind;
    void (Dispatcher::*run)(const Call &);
    std::string_view usage;
};

const std::vector<Dispatcher::Command> &Dispatcher::commands() {
    constexpr std::size_t many = SIZE_MAX;
    static const std::vector<Command> table{
        {"SB.ADDH", 4, 4, Command::kAdd, &Dispatcher::addh, "SB.ADDH name hash_domain hashes"},
        {"BF.EXISTS", 3, 3, Command::kPlain, &Dispatcher::bf_exists, "BF.EXISTS name key"},
        {"BF.MEXISTS", 3, many, Command::kPlain, &Dispatcher::bf_exists, "BF.MEXISTS name key [key ...]"},
        {"BF.ADD", 3, 3, Command::kAdd, &Dispatcher::bf_add, "BF.ADD name key"},
        {"BF.MADD", 3, many, Command::kAdd, &Dispatcher::bf_add, "BF.MADD name key [key ...]"},
        {"SB.REPORT", 5, 5, Command::kPlain, &Dispatcher::report, "SB.REPORT name hash_domain hash generation"},
        {"PING", 1, 2, Command::kPlain, &Dispatcher::ping, "PING [text]"},
        {"QUIT", 1, 1, Command::kPlain, &Dispatcher::quit, "QUIT"},
        {"HELLO", 1, 2, Command::kPlain, &Dispatcher::hello, "HELLO [2]"},
        {"COMMAND", 1, many, Command::kPlain, &Dispatcher::command, "COMMAND [COUNT|DOCS|INFO ...]"},
        {"SB.INFO", 1, 2, Command::kPlain, &Dispatcher::info, "SB.INFO [name]"},
        {"SB.STATE", 1, 1, Command::kPlain, &Dispatcher::state, "SB.STATE"},
        {"SB.CREATE", 6, 20, Command::kAdmin, &Dispatcher::create, kCreateUsage},
        {"BF.RESERVE", 4, 7, Command::kAdmin, &Dispatcher::reserve, kReserveUsage},
        {"SB.DROP", 2, 2, Command::kAdmin, &Dispatcher::drop, "SB.DROP name"},
        {"SB.SNAPSHOT", 2, 2, Command::kAdmin, &Dispatcher::snapshot, "SB.SNAPSHOT name|*"},
        {"SB.UNDROP", 1, 2, Command::kAdmin, &Dispatcher::undrop, "SB.UNDROP [name]"},
        {"SB.IMPORT", 3, 3, Command::kAdmin, &Dispatcher::import, "SB.IMPORT name file"},
        {"SB.JOURNAL", 4, 4, Command::kAdmin, &Dispatcher::journal, "SB.JOURNAL name hash_domain hash"},
        {"SB.LOAD", 3, 5, Command::kAdmin, &Dispatcher::load, kLoadUsage},
        {"SB.BULK", 4, 4, Command::kAdmin, &Dispatcher::bulk, "SB.BULK name hash_domain hashes"},
        {"SB.REBUILD", 3, 15, Command::kAdmin, &Dispatcher::rebuild, kRebuildUsage},
        {"SB.ROLLBACK", 2, 3, Command::kAdmin, &Dispatcher::rollback, kRollbackUsage},
        {"SB.LIVE", 3, 4, Command::kAdmin, &Dispatcher::live, kLiveUsage},
        {"SB.PAUSE", 2, many, Command::kAdmin, &Dispatcher::pause, "SB.PAUSE name|* [why ...]"},
        {"SB.RESUME", 2, 2, Command::kAdmin, &Dispatcher::resume, "SB.RESUME name|*"},
        {"SB.FORGETREADERS", 2, 2, Command::kAdmin, &Dispatcher::forget_readers, "SB.FORGETREADERS name|*"}};
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
    if (command->kind == Command::kAdmin && !is_admin(peer))
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

// What goes to memory only counts as soon as it is executed: behind one that waits for the disk its sender would learn of it
// later, perhaps after a rebuild began.
bool Dispatcher::runs_ahead(const Arguments &arguments) const {
    const Command *const command = find_command(arguments[0]);
    if (command == nullptr || command->kind != Command::kAdd || arguments.size() < 2)
        return false;
    const Filter *const filter = instance_.find(arguments[1]);
    return filter != nullptr && filter->record.is_journalled();
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
                reply::array(1) + reply::simple(command.kind == Command::kAdmin ? "admin" : "fast");
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
