// From a command on the wire to what the instance does, and back to a reply. dispatcher.cpp holds the table of
// commands, the command_*.cpp beside it what each does.
#pragma once

#include <optional>
#include <string>

#include "net/server.h"
#include "service/instance.h"

namespace shmbloom {

class Dispatcher : public net::Handler {
  public:
    Dispatcher(Instance &instance, const Options &options) : instance_{instance}, options_{options} {}

    using Reply = std::function<void(net::Response)>;

    void execute(net::SessionId session, const net::Peer &peer, const Arguments &arguments, Reply done) override;
    bool runs_ahead(const Arguments &arguments) const override; // adds do, which wait for the disk together
    void closed(net::SessionId session) override { instance_.session_closed(session); }

  private:
    struct Command;
    struct Call {
        net::SessionId session;
        const net::Peer &peer;
        const Arguments &arguments;
        const Reply &done;

        void reply(std::string bytes) const { done({std::move(bytes)}); }
    };
    static const std::vector<Command> &commands();
    static const Command *find_command(std::string_view name);
    bool is_admin(const net::Peer &peer) const;
    std::string info_reply(const Filter &filter) const;
    Instance::Done reply_ok(const Call &call) const; // +OK or the failure
    Instance::Done reply_info(const Call &call, std::string_view name) const; // SB.INFO of it, or the failure

    // dispatcher.cpp
    void ping(const Call &call);
    void quit(const Call &call);
    void hello(const Call &call);
    void command(const Call &call);
    void info(const Call &call);
    void state(const Call &call);
    // command_create.cpp
    void create(const Call &call);
    void reserve(const Call &call);
    void drop(const Call &call);
    void snapshot(const Call &call);
    // command_recover.cpp
    void undrop(const Call &call);
    void import(const Call &call);
    void journal(const Call &call);
    // command_rebuild.cpp
    void rebuild(const Call &call);
    void begin_rebuild(const Call &call);
    void must_contain(const Call &call);
    void end_rebuild(const Call &call);
    void grow(const Call &call);
    void rollback(const Call &call);
    Instance::SwitchDone reply_switch(const Call &call) const;
    // command_keys.cpp
    void addh(const Call &call);
    void bulk(const Call &call);
    void report(const Call &call);
    void bf_add(const Call &call);
    void bf_exists(const Call &call);
    // command_doubts.cpp
    void load(const Call &call);
    void live(const Call &call);
    void pause(const Call &call);
    void resume(const Call &call);
    void forget_readers(const Call &call);

    Instance &instance_;
    const Options &options_;
};

} // namespace shmbloom
