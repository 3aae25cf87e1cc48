// Nanoseconds a lookup through libshmbloom's API, beside the two things it cannot do without: hashing the key, and
// fetching a cache line from a random place. README.md says how to read the table.
#include <cstdio>
#include <cstring>
#include <exception>
#include <getopt.h>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>

#include "report.h"
#include "rounds.h"
#include "shmbloom/shmbloom.h"
#include "standalone_filter.h"

namespace shmbloom::bench {

namespace {

constexpr std::size_t kKeyBytes = 16;

struct Key {
    std::uint64_t words[kKeyBytes / 8];
};

// Two outputs of SplitMix64 (Steele, Lea, Flood 2014): different i, different keys.
Key make_key(std::uint64_t i) {
    Key key;
    for (std::uint64_t part = 0; part < 2; part++) {
        std::uint64_t x = (2 * i + part + 1) * 0x9E3779B97F4A7C15;
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
        x = (x ^ x >> 27) * 0x94D049BB133111EB;
        key.words[part] = x ^ x >> 31;
    }
    return key;
}

// What a measurement must not let the compiler leave out.
volatile std::uint64_t sink;

struct Options {
    std::vector<std::uint64_t> keys{1'000'000, 100'000'000};
    double fpr = 0.01;
    unsigned rounds = 15;
    std::size_t batch = 1 << 19;
    std::uint64_t absent = 10'000'000; // lookups of absent keys to count the rate
    std::uint64_t seed = 1;
    std::string json;
};

struct Closer {
    void operator()(shmbloom_filter *f) const { shmbloom_close(f); }
};

// One filter, filled, and the library's handle on it.
class Subject {
  public:
    Subject(std::uint64_t n, double p, geometry::LayoutChoice layout) : filter_{n, p, layout} {
        for (std::uint64_t i = 0; i < n; i++)
            filter_.add(hash(make_key(i)));
        shmbloom_options options{};
        options.struct_size = sizeof options;
        options.runtime_dir = filter_.runtime_dir().c_str();
        char error[512] = "";
        options.error_text = error;
        options.error_text_size = sizeof error;
        shmbloom_filter *handle = nullptr;
        if (shmbloom_open(&handle, StandaloneFilter::kName, &options) < 0)
            throw std::runtime_error(error);
        handle_.reset(handle);
    }

    std::uint64_t hash(const Key &key) const { return filter_.hash(&key, sizeof key); }
    const StandaloneFilter &filter() const { return filter_; }

    double counted_fpr(std::uint64_t n, std::uint64_t asked) const {
        std::uint64_t maybe = 0;
        for (std::uint64_t i = 0; i < asked; i++)
            maybe += filter_.contains(hash(make_key(n + i)));
        return static_cast<double>(maybe) / static_cast<double>(asked);
    }

    // How many of the keys are "maybe"; all others must be "absent".
    std::size_t count_maybe(const std::vector<Key> &keys) const {
        std::size_t answers[3] = {};
        for (const Key &key : keys)
            answers[shmbloom_contains(handle_.get(), &key, sizeof key)]++;
        if (answers[SHMBLOOM_UNVERIFIED] != 0)
            throw std::runtime_error("a lookup was answered 'unverified'");
        return answers[SHMBLOOM_MAYBE];
    }

  private:
    StandaloneFilter filter_;
    std::unique_ptr<shmbloom_filter, Closer> handle_;
};

// All that is measured at one number of keys.
struct Size {
    std::uint64_t n;
    std::vector<std::unique_ptr<Subject>> subjects; // classic, blocked
    std::vector<Key> hits, misses;
    std::vector<std::uint64_t> lines; // first words of the lines that the misses have in the blocked filter
};

void draw_keys(Size &size, std::size_t batch, std::mt19937_64 &random) {
    const Subject &blocked = *size.subjects.back();
    size.hits.clear();
    size.misses.clear();
    size.lines.clear();
    for (std::size_t i = 0; i < batch; i++) {
        size.hits.push_back(make_key(random() % size.n));
        size.misses.push_back(make_key(size.n + random() % (std::uint64_t{1} << 60)));
        size.lines.push_back(
            shmbloom_multiply_high(blocked.hash(size.misses.back()), blocked.filter().geometry().shape.size) * 8);
    }
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

void look_up_hits(const Subject &subject, const std::vector<Key> &keys) {
    if (subject.count_maybe(keys) != keys.size())
        throw std::runtime_error("false negative");
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
        add(make_row("XXH3 of 16 bytes alone", 0, ""), [=] { hash_all(*first->subjects.front(), first->misses); });
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
        for (std::size_t i = 0; i < rows_.size(); i++)
            rows_[i].ns = spread_of(contestants_[i].ns);
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
        return size;
    }

    void add(Row row, std::function<void()> run) {
        rows_.push_back(std::move(row));
        contestants_.push_back({rows_.back().what, std::move(run), options_.batch});
    }

    void add_size(Size &size) {
        const Subject *const blocked = size.subjects.back().get();
        add(make_row("random line loads alone", size.n, "blocked"),
            [&size, blocked] { load_lines(blocked->filter().words(), size.lines); });
        for (const auto &owned : size.subjects) {
            const Subject *const subject = owned.get();
            Row row = make_row("", size.n, subject == blocked ? "blocked" : "classic");
            row.fpr = subject->counted_fpr(size.n, options_.absent);
            row.bits_per_key =
                static_cast<double>(subject->filter().geometry().bits_bytes) * 8 / static_cast<double>(size.n);
            row.segment = subject->filter().segment_name();
            row.what = "lookup, hit";
            add(row, [&size, subject] { look_up_hits(*subject, size.hits); });
            row.what = "lookup, miss";
            add(row, [&size, subject] { sink = subject->count_maybe(size.misses); });
        }
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
    static constexpr option known[] = {{"keys", required_argument, nullptr, 'k'},
                                       {"fpr", required_argument, nullptr, 'p'},
                                       {"rounds", required_argument, nullptr, 'r'},
                                       {"seed", required_argument, nullptr, 's'},
                                       {"json", required_argument, nullptr, 'j'},
                                       {"quick", no_argument, nullptr, 'q'},
                                       {nullptr, 0, nullptr, 0}};
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
        else if (c == 'j')
            options.json = optarg;
        else if (c == 'q') {
            options.keys = {100'000};
            options.rounds = 3;
            options.batch = 1 << 14;
            options.absent = 300'000;
        } else
            throw std::invalid_argument(
                "usage: lookup_bench [--keys 1e6,1e8] [--fpr 0.01] [--rounds 15] [--seed 1] [--json FILE] [--quick]");
    }
    return options;
}

} // namespace

} // namespace shmbloom::bench

int main(int argc, char **argv) {
    using namespace shmbloom::bench;
    try {
        const Options options = parse(argc, argv);
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
