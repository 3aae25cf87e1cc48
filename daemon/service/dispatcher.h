// From a command on the wire to what the instance does, and back to a reply. The only place that knows command names.
#pragma once

#include <optional>
#include <string>

#include "net/server.h"
#include "service/instance.h"

namespace shmbloom {

class Dispatcher : public net::Handler {
  public:
    Dispatcher(Instance &instance, const Options &options) : instance_{instance}, options_{options} {}

    using Arguments = std::vector<std::string_view>;
    using Reply = std::function<void(net::Response)>;

    void execute(net::SessionId session, const net::Peer &peer, const Arguments &arguments, Reply done) override;
    void closed(net::SessionId session) override { instance_.session_closed(session); }

  private:
    struct Command;
    struct Call {
        net::SessionId session;
        const Arguments &arguments;
        const Reply &done;
    };
    static const Command *find_command(std::string_view name);
    bool is_admin(const net::Peer &peer) const;

    void ping(const Call &call);
    void quit(const Call &call);
    void hello(const Call &call);
    void create(const Call &call);
    void drop(const Call &call);
    void info(const Call &call);
    void addh(const Call &call);
    void load(const Call &call);
    std::string info_reply(const Filter &filter) const;

    Instance &instance_;
    const Options &options_;
};

} // namespace shmbloom
