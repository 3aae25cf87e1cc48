// Nanoseconds a lookup through libshmbloom's API, beside the two things it cannot do without: hashing the key, and
// fetching a cache line from a random place. README.md says how to read the table.
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <getopt.h>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>

#include "bench_key.h"
#include "peers.h"
#include "report.h"
#include "rounds.h"
#include "shmbloom/shmbloom.h"
#include "subject.h"

namespace shmbloom::bench {

namespace {

constexpr std::size_t kBatches[] = {16, 64, 1024};
constexpr std::size_t kOtherKeyBytes[] = {8, 36, 64};

// What a measurement must not let the compiler leave out.
volatile std::uint64_t sink;

struct Options {
    std::vector<std::uint64_t> keys{1'000'000, 100'000'000};
    double fpr = 0.01;
    unsigned rounds = 15;
    std::size_t batch = 1 << 19;
    std::uint64_t absent = 10'000'000; // lookups of absent keys to count the rate
    std::uint64_t seed = 1;
    bool peers = true;
    std::string json;
};

// All that is measured at one number of keys.
struct Size {
    std::uint64_t n;
    std::vector<std::unique_ptr<Subject>> subjects; // classic, blocked
    std::vector<std::unique_ptr<Peer>> peers;
    Keys hits, misses, halves;
    SizedKeys others[std::size(kOtherKeyBytes)];
    std::vector<std::uint64_t> offsets; // of keys that lie one behind the other
    std::vector<std::uint64_t> lines;   // first words of the lines that the misses have in the blocked filter
};

void draw_keys(Size &size, std::size_t batch, std::mt19937_64 &random) {
    const Subject &blocked = *size.subjects.back();
    size.hits.clear();
    size.misses.clear();
    size.halves.clear();
    size.lines.clear();
    size.offsets.assign(1, 0);
    for (std::size_t i = 0; i < batch; i++) {
        size.hits.keys.push_back(make_key(random() % size.n));
        size.misses.keys.push_back(make_key(size.n + random() % (std::uint64_t{1} << 60)));
        size.halves.keys.push_back((random() % 2 == 0 ? size.hits : size.misses).keys.back());
        size.offsets.push_back((i + 1) * sizeof(Key));
    }
    size.halves.finish(blocked);
    for (std::size_t i = 0; i < std::size(kOtherKeyBytes); i++)
        size.others[i].draw(batch, kOtherKeyBytes[i], random);
    size.hits.finish(blocked);
    size.misses.finish(blocked);
    for (const std::uint64_t hash : size.misses.hashes)
        size.lines.push_back(shmbloom_multiply_high(hash, blocked.filter().geometry().shape.size) * 8);
}

void hash_all(const Subject &subject, const std::vector<Key> &keys) {
    std::uint64_t sum = 0;
    for (const Key &key : keys)
        sum += subject.hash(key);
    sink = sum;
}

void load_lines(const std::uint64_t *words, const std::vector<std::uint64_t> &lines) {
    std::uint64_t sum = 0;
    for (const std::uint64_t line : lines)
        sum += shmbloom_load_field(&words[line]);
    sink = sum;
}

// As far ahead as a core has lines on their way.
void load_lines_ahead(const std::uint64_t *words, const std::vector<std::uint64_t> &lines) {
    constexpr std::size_t ahead = 64;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < lines.size(); i++) {
        __builtin_prefetch(words + lines[i + ahead < lines.size() ? i + ahead : i]);
        sum += shmbloom_load_field(&words[lines[i]]);
    }
    sink = sum;
}

void load_lines_in_turn(const std::uint64_t *words, const std::vector<std::uint64_t> &lines) {
    std::uint64_t last = 0;
    const std::uint64_t zero = Subject::opaque_zero();
    for (const std::uint64_t line : lines)
        last = shmbloom_load_field(&words[line + (last & zero)]);
    sink = last;
}

void expect_all(std::size_t found, std::size_t asked) {
    if (found != asked)
        throw std::runtime_error("false negative, or an answer 'unverified'");
}

Row make_row(std::string what, std::uint64_t n, std::string layout) {
    Row row;
    row.what = std::move(what);
    row.keys = n;
    row.layout = std::move(layout);
    return row;
}

// Rows and contestants stand at the same places of their lists.
class Bench {
  public:
    explicit Bench(const Options &options) : options_{options} {
        for (const std::uint64_t n : options.keys)
            sizes_.push_back(make_size(n));
        Size *const first = sizes_.front().get();
        add(make_row("XXH3 of 16 bytes alone", 0, ""), [=] { hash_all(*first->subjects.front(), first->misses.keys); });
        for (const auto &size : sizes_)
            add_size(*size);
        add_again();
    }

    Report run() {
        std::mt19937_64 random{options_.seed};
        const Disturbance disturbance = run_rounds(contestants_, options_.rounds, options_.seed, [&](unsigned) {
            for (const auto &size : sizes_)
                draw_keys(*size, options_.batch, random);
        });
        for (std::size_t i = 0; i < rows_.size(); i++) {
            rows_[i].ns = spread_of(contestants_[i].ns);
            if (rows_[i].base < rows_.size())
                rows_[i].to_base = ratio_of(contestants_[i], contestants_[rows_[i].base]);
        }
        // Not before: pages are mapped when they are first touched.
        for (Row &row : rows_)
            if (!row.segment.empty())
                row.huge_page_share = huge_page_share(row.segment);
        const Spread again = ratio_of(contestants_.back(), contestants_[contestants_.size() - 2]);
        return {rows_,          again,         static_cast<unsigned>(contestants_.front().ns.size()),
                options_.batch, options_.seed, disturbance};
    }

  private:
    std::unique_ptr<Size> make_size(std::uint64_t n) const {
        auto size = std::make_unique<Size>();
        size->n = n;
        for (const auto layout : {geometry::LayoutChoice::classic, geometry::LayoutChoice::blocked}) {
            std::fprintf(stderr, "filling %llu keys, %s ...\n", static_cast<unsigned long long>(n),
                         layout == geometry::LayoutChoice::classic ? "classic" : "blocked");
            size->subjects.push_back(std::make_unique<Subject>(n, options_.fpr, layout));
        }
        if (options_.peers)
            size->peers = make_peers(n, options_.fpr);
        for (const auto &peer : size->peers) {
            std::fprintf(stderr, "filling %llu keys, %s ...\n", static_cast<unsigned long long>(n),
                         peer->name().c_str());
            for (std::uint64_t i = 0; i < n; i++) {
                throw_if_stopped();
                peer->add(make_key(i));
            }
        }
        return size;
    }

    void add(Row row, std::function<void()> run) {
        row.base = base_;
        rows_.push_back(std::move(row));
        contestants_.push_back({rows_.back().what, std::move(run), options_.batch});
    }

    // What all that follow are compared with: lines that are fetched ahead and nothing else.
    void add_lines(const Size &size) {
        const std::uint64_t *const words = size.subjects.back()->filter().words();
        add(make_row("line loads, fetched ahead", size.n, "blocked"),
            [&size, words] { load_lines_ahead(words, size.lines); });
        base_ = rows_.size() - 1;
        rows_.back().base = base_;
        add(make_row("line loads", size.n, "blocked"), [&size, words] { load_lines(words, size.lines); });
        add(make_row("line loads in turn", size.n, "blocked"),
            [&size, words] { load_lines_in_turn(words, size.lines); });
    }

    // `hits`: whether the keys are there, and so all must be found.
    void add_lookups(const Size &size, const Subject &subject, const Row &row, bool hits) {
        const Keys *const k = hits ? &size.hits : &size.misses;
        const Subject *const s = &subject;
        const std::vector<std::uint64_t> *const offsets = &size.offsets;
        const auto add_way = [&](const std::string &what, auto count) {
            Row named = row;
            named.what = what + (hits ? ", hit" : ", miss");
            add(named, [k, count, hits] {
                const std::size_t found = count();
                sink = found;
                if (hits)
                    expect_all(found, k->keys.size());
            });
        };
        add_way("single", [=] { return s->count_maybe(k->keys); });
        if (s->has_ungated())
            add_way("single, gates left out", [=] { return s->count_maybe_ungated(k->keys); });
        add_way("single, in turn", [=] { return s->count_maybe_in_turn(k->keys); });
        for (const std::size_t batch : kBatches) {
            const std::string by = " by " + std::to_string(batch);
            add_way("strings" + by, [=] { return s->count_many(k->pointers, batch); });
            if (batch == kBatchMax)
                add_way("packed" + by, [=] { return s->count_packed(k->keys, *offsets, batch); });
            add_way("hashes" + by, [=] { return s->count_hashes(k->hashes, batch); });
        }
    }

    // Half of the keys there, and keys of other sizes, of which none is.
    void add_other_keys(const Size &size, const Subject &subject, const Row &row) {
        const Subject *const s = &subject;
        const auto add_way = [&](const std::string &what, std::function<std::size_t()> count) {
            Row named = row;
            named.what = what;
            add(named, [count = std::move(count)] { sink = count(); });
        };
        const Keys *const halves = &size.halves;
        const std::string by = " by " + std::to_string(kBatchMax);
        add_way("single, half of them hits", [=] { return s->count_maybe(halves->keys); });
        add_way("strings" + by + ", half of them hits", [=] { return s->count_many(halves->pointers, kBatchMax); });
        for (std::size_t i = 0; i < std::size(kOtherKeyBytes); i++) {
            const SizedKeys *const keys = &size.others[i];
            const std::string of = " of " + std::to_string(kOtherKeyBytes[i]) + " bytes";
            add_way("single" + of + ", miss", [=] { return s->count_pointers(keys->keys); });
            add_way("strings" + of + by + ", miss", [=] { return s->count_many(keys->keys, kBatchMax); });
        }
    }

    void add_peer(const Size &size, const Peer &peer) {
        const Peer *const p = &peer;
        Row row = make_row("", size.n, "");
        row.bits_per_key = peer.bytes() * 8 / static_cast<double>(size.n);
        std::vector<Key> absent;
        for (std::uint64_t i = 0; i < options_.absent; i++)
            absent.push_back(make_key(size.n + i));
        row.fpr = static_cast<double>(peer.count(absent)) / static_cast<double>(options_.absent);
        for (const bool hits : {false, true}) {
            const Keys *const k = hits ? &size.hits : &size.misses;
            row.what = peer.name() + (hits ? ", hit" : ", miss");
            add(row, [p, k] { sink = p->count(k->keys); });
            row.what = peer.name() + (hits ? " bulk, hit" : " bulk, miss");
            if (peer.has_bulk())
                add(row, [p, k] { sink = p->count_bulk(k->keys); });
        }
    }

    void add_size(Size &size) {
        add_lines(size);
        for (const auto &owned : size.subjects) {
            const Subject *const subject = owned.get();
            Row row = make_row("", size.n, owned == size.subjects.back() ? "blocked" : "classic");
            row.fpr = subject->counted_fpr(size.n, options_.absent);
            row.bits_per_key =
                static_cast<double>(subject->filter().geometry().bits_bytes) * 8 / static_cast<double>(size.n);
            row.segment = subject->filter().segment_name();
            add_lookups(size, *subject, row, true);
            add_lookups(size, *subject, row, false);
            if (owned == size.subjects.back())
                add_other_keys(size, *subject, row);
        }
        for (const auto &peer : size.peers)
            add_peer(size, *peer);
    }

    // The last contestant once more: how far apart two measurements of one thing are.
    void add_again() {
        Row row = rows_.back();
        row.what += ", again";
        add(row, contestants_.back().run);
    }

    Options options_;
    std::vector<std::unique_ptr<Size>> sizes_;
    std::vector<Row> rows_;
    std::size_t base_ = Row::kNoBase;
    std::vector<Contestant> contestants_;
};

double parse_number(const std::string &text) {
    char *end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !(value > 0))
        throw std::invalid_argument("'" + text + "' is not a number above 0");
    return value;
}

std::vector<std::uint64_t> parse_keys(const std::string &text) {
    std::vector<std::uint64_t> keys;
    std::istringstream list{text};
    for (std::string one; std::getline(list, one, ',');)
        keys.push_back(static_cast<std::uint64_t>(parse_number(one)));
    if (keys.empty())
        throw std::invalid_argument("--keys needs a number");
    return keys;
}

Options parse(int argc, char **argv) {
    static constexpr option known[] = {
        {"keys", required_argument, nullptr, 'k'},   {"fpr", required_argument, nullptr, 'p'},
        {"rounds", required_argument, nullptr, 'r'}, {"seed", required_argument, nullptr, 's'},
        {"json", required_argument, nullptr, 'j'},   {"no-peers", no_argument, nullptr, 'n'},
        {"quick", no_argument, nullptr, 'q'},        {nullptr, 0, nullptr, 0}};
    Options options;
    for (int c; (c = ::getopt_long(argc, argv, "", known, nullptr)) != -1;) {
        if (c == 'k')
            options.keys = parse_keys(optarg);
        else if (c == 'p')
            options.fpr = parse_number(optarg);
        else if (c == 'r')
            options.rounds = static_cast<unsigned>(parse_number(optarg));
        else if (c == 's')
            options.seed = static_cast<std::uint64_t>(parse_number(optarg));
        else if (c == 'j') {
            options.json = optarg;
            if (!std::ofstream{options.json, std::ios::app}) // not noticed after minutes only
                throw std::invalid_argument("cannot write '" + options.json + "'");
        } else if (c == 'n')
            options.peers = false;
        else if (c == 'q') {
            options.keys = {100'000};
            options.rounds = 3;
            options.batch = 1 << 14;
            options.absent = 300'000;
        } else
            throw std::invalid_argument(
                "usage: lookup_bench [--keys 1e6,1e8] [--fpr 0.01] [--rounds 15] [--seed 1] [--json FILE] "
                "[--no-peers] [--quick]");
    }
    if (optind < argc)
        throw std::invalid_argument("'" + std::string{argv[optind]} + "' is no option; see bench/README.md");
    if (options.fpr >= 1)
        throw std::invalid_argument("--fpr is below 1");
    return options;
}

} // namespace

} // namespace shmbloom::bench

int main(int argc, char **argv) {
    using namespace shmbloom::bench;
    try {
        const Options options = parse(argc, argv);
        stop_on_signals();
        const Report report = Bench{options}.run();
        print_table(report);
        if (!options.json.empty())
            write_json(report, options.json);
        return 0;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "lookup_bench: %s\n", error.what());
        return 1;
    }
}
