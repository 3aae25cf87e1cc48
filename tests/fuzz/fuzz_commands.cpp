// Whatever two clients send, in pieces and between each other, the daemon keeps its promises (witness.h).
// Input: a byte that seeds cuts and the order of things, then what the clients send, and between it:
//   FF  the other client speaks from here on     FE  the one that speaks goes, a new one takes its place
//   FD  a second has passed                      FC  an operator pauses every filter, without the daemon
//   FB  every filter has lost adds, as after a start that found no segment
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include "choices.h"
#include "net/resp_parser.h"
#include "sys/clock.h"
#include "witness.h"

namespace {

using namespace shmbloom;
using net::RespParser;

constexpr net::RespLimits kLimits{.request_bytes = 64 << 10, .arguments = 200, .inline_bytes = 1 << 10};

// One connection, as net/session.cpp has it, but for the socket: one command at a time, in order.
class Client {
  public:
    Client(Witness &witness, bool is_admin)
        : witness_{witness}, peer_{.uid = is_admin ? ::geteuid() : ::geteuid() + 1, .gid = 0, .pid = 0, .groups = {}} {
        static net::SessionId last = 0;
        session_ = ++last;
    }

    void receive(std::string_view bytes) { received_.append(bytes); }

    // Executes what is there, up to a command that is not done at once. Never called from within a `done`.
    void go_on() {
        while (!is_executing_ && !ended_ && !received_.empty()) {
            // In a block of exactly the bytes there are, which goes with the command: the address sanitizer sees every
            // step outside, and every argument that is used after its time.
            block_ = std::make_unique<char[]>(received_.size());
            received_.copy(block_.get(), received_.size());
            const auto outcome = parser_.parse({block_.get(), received_.size()});
            if (outcome != RespParser::Outcome::request) {
                ended_ = outcome == RespParser::Outcome::error;
                return;
            }
            if (parser_.arguments().empty())
                retire();
            else
                execute();
        }
    }

    bool is_executing() const { return is_executing_; }

    void close() {
        require(requests_ == replies_, "every request has its reply");
        witness_.closed(session_);
    }

  private:
    void execute() {
        is_executing_ = true;
        requests_++;
        witness_.execute(session_, peer_, parser_.arguments(), [this](const net::Response &response) {
            is_executing_ = false;
            replies_++;
            ended_ = response.close;
            retire();
        });
    }

    void retire() {
        received_.erase(0, parser_.request_bytes());
        parser_.next();
        block_.reset();
    }

    Witness &witness_;
    const net::Peer peer_;
    net::SessionId session_;
    RespParser parser_{kLimits};
    std::string received_;
    std::unique_ptr<char[]> block_;
    bool is_executing_ = false;
    bool ended_ = false;
    std::size_t requests_ = 0, replies_ = 0;
};

class Talk {
  public:
    Talk(DaemonInHand &daemon, Witness &witness, Choices &choices)
        : daemon_{daemon}, witness_{witness}, choices_{choices}, is_admin_{!choices.one_in(16)} {
        for (auto &client : clients_)
            client = std::make_unique<Client>(witness_, is_admin_);
    }

    void run(std::string_view input) {
        while (!input.empty()) {
            const std::size_t plain = std::min(input.find_first_of("\xFF\xFE\xFD\xFC\xFB"), input.size());
            speak(input.substr(0, plain));
            input.remove_prefix(plain);
            if (input.empty())
                break;
            happen(static_cast<unsigned char>(input[0]));
            input.remove_prefix(1);
        }
        settle();
        for (const auto &client : clients_)
            client->close();
    }

  private:
    void speak(std::string_view bytes) {
        while (!bytes.empty()) {
            const std::size_t size = std::min(bytes.size(), 1 + choices_.up_to(choices_.one_in(4) ? 3 : 200));
            clients_[speaker_]->receive(bytes.substr(0, size));
            bytes.remove_prefix(size);
            clients_[speaker_]->go_on();
            while (!witness_.is_idle() && !choices_.one_in(6))
                step();
        }
    }

    void step() {
        daemon_.take_one(choices_.up_to(daemon_.under_way() - 1));
        witness_.look();
        for (const auto &client : clients_)
            client->go_on();
    }

    void settle() {
        while (!witness_.is_idle())
            step();
    }

    void happen(unsigned char what) {
        if (what == 0xFF)
            speaker_ = 1 - speaker_;
        if (what == 0xFE)
            replace_client();
        if (what == 0xFD)
            daemon_.let_pass(1);
        for (const auto &[name, filter] : daemon_.instance().filters())
            if (what <= 0xFC && filter->is_published())
                doubt(*filter, what == 0xFC ? SHMBLOOM_DOUBT_PAUSED : SHMBLOOM_DOUBT_LOSSY);
        witness_.look();
    }

    // A peer's going is seen when its command is done.
    void replace_client() {
        while (clients_[speaker_]->is_executing())
            step();
        clients_[speaker_]->close();
        clients_[speaker_] = std::make_unique<Client>(witness_, is_admin_);
    }

    void doubt(Filter &filter, std::uint32_t bit) {
        Gates gates = filter.gates(daemon_.instance().control());
        if (bit == SHMBLOOM_DOUBT_LOSSY)
            filter.record.doubts[bit] = {unix_seconds(), "lost"};
        else if (choices_.one_in(3))
            gates.segment = nullptr; // he could reach one of the two
        gates.doubt(bit);
    }

    DaemonInHand &daemon_;
    Witness &witness_;
    Choices &choices_;
    const bool is_admin_;
    std::array<std::unique_ptr<Client>, 2> clients_;
    std::size_t speaker_ = 0;
};

// So that the next input finds nothing of this one. All at once: their writes of the registry are one. Then a day passes,
// and what is kept for an undrop goes, too.
void drop_all(DaemonInHand &daemon, Witness &witness) {
    daemon.settle(); // memory that is just being made for a build is named until it stands
    std::vector<std::unique_ptr<Client>> clients;
    for (const auto &[name, filter] : daemon.instance().filters()) {
        clients.push_back(std::make_unique<Client>(witness, true));
        clients.back()->receive("SB.DROP " + name + "\n");
    }
    for (const auto &client : clients)
        client->go_on();
    while (!witness.is_idle())
        daemon.take_one();
    for (const auto &client : clients)
        client->close();
    require(daemon.instance().filters().empty(), "every filter can be dropped");
    daemon.settle();
    if (daemon.instance().registry().dropped.empty())
        return;
    daemon.let_pass(86400);
    daemon.settle();
    require(daemon.instance().registry().dropped.empty(), "what was dropped is forgotten after a day");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    static std::unique_ptr<DaemonInHand> daemon;
    static std::size_t count = 0;
    if (size == 0)
        return 0;
    // Its journal grows, and is read by some commands and at every start.
    if (count++ % 2048 == 0) {
        daemon.reset();
        daemon = std::make_unique<DaemonInHand>();
    }
    Input input{data, size};
    Choices choices{input.byte()};
    Witness witness{*daemon};
    Talk{*daemon, witness, choices}.run(input.rest());
    if (!daemon->instance().filters().empty() && choices.one_in(4))
        witness.look_at_memory();
    // Now and then, since it takes as long as many inputs.
    if (!daemon->instance().filters().empty() && choices.one_in(256))
        witness.restart();
    drop_all(*daemon, witness);
    return 0;
}
