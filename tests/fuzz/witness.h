// Stands between the clients and the dispatcher, and holds the daemon to what docs/protocol.md promises: every command
// gets one reply, and that is RESP; no key that was acknowledged is absent, as long as its filter is the same and no
// rebuild or rollback brought another content; filters come, go and lose doubts only while a command is under way that
// may do this.
#pragma once

#include <list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "daemon_in_hand.h"
#include "reply_reader.h"

namespace shmbloom {

class Witness {
  public:
    explicit Witness(DaemonInHand &daemon) : daemon_{daemon} {}

    using Arguments = Dispatcher::Arguments;
    // As Dispatcher::execute, with replies that were looked at.
    void execute(net::SessionId session, const net::Peer &peer, const Arguments &arguments, Dispatcher::Reply done);
    void closed(net::SessionId session);

    bool is_idle() const { return under_way_.empty(); }
    void look();           // at all filters, and whether what changed was allowed to
    void look_at_memory(); // every acknowledged key is in the bits; both gates and the disk agree. While idle
    void restart();        // the daemon, which must change nothing

  private:
    struct UnderWay {
        net::SessionId session = 0;
        std::vector<std::string> arguments; // the first one in capital letters
        std::uint32_t may_end = 0;          // doubts
        bool is_large = false;
        bool is_late = false;     // not done at once: much may have happened between the command and its reply
        std::uint64_t number = 0; // of the filter that it names
        std::uint64_t rebuilds = 0;    // that were begun before it
        std::set<std::uint64_t> aside; // keys that its success may end
    };
    // What another content of the filter must have.
    struct Rebuilds {
        std::uint64_t begun = 0;             // how many
        std::set<std::uint64_t> since_begun; // adds since the last one began
        net::SessionId session = 0;          // whose it is
        std::set<std::uint64_t> brought;     // by its source
        std::set<std::uint64_t> previous;    // what a rollback brings back
    };
    struct Known {
        std::uint64_t number = 0; // another: the filter was made anew
        std::uint32_t doubts = 0;
        std::set<std::uint64_t> hashes;                // acknowledged
        std::map<net::SessionId, std::uint64_t> loads; // open ones: keys acknowledged
        std::map<net::SessionId, std::set<std::uint64_t>> bulk; // of them: acknowledged at their end
        bool spoiled = false;
        Rebuilds rebuilds;
    };
    Known *find(const std::string &name);
    void wait_for_the_disk();
    std::uint32_t may_end(const UnderWay &command) const;
    bool is_allowed(const std::string &name, const char *verb) const;
    std::uint32_t doubts_of_new(const std::string &name) const;
    void check_doubts(const std::string &name, const Filter &filter, Known &known) const;
    void replied(const UnderWay &command, const ReadReply &reply);
    static bool is_switch(const UnderWay &command);
    void before_switch(UnderWay &command, Known &known) const;
    void rebuild_replied(const UnderWay &command, const ReadReply &reply, Known &known) const;
    void bulk_replied(const UnderWay &command, const ReadReply &reply, Known &known) const;
    void load_replied(const UnderWay &command, const ReadReply &reply, Known &known);
    void added(const UnderWay &command, std::uint64_t hash, std::int64_t answer, Known &known);
    void keys_replied(const UnderWay &command, const ReadReply &reply, Known &known);
    void hashes_replied(const UnderWay &command, const ReadReply &reply, Known &known);

    DaemonInHand &daemon_;
    std::list<UnderWay> under_way_;
    std::map<std::string, Known> known_; // by name
};

} // namespace shmbloom
