// contains and add: keys from the command line or from stdin, a line `KEY<TAB>answer` each.
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "filter.h"
#include "hints.h"
#include "json.h"
#include "keys.h"
#include "line_reader.h"
#include "output.h"
#include "shmbloom/key.h"
#include "verbs.h"

namespace shmbloom::ctl {

namespace {

constexpr const char *kAnswers[] = {"absent", "maybe", "unverified"};

// Lines as they come for people; kept until the end for --json.
class Answers {
  public:
    void put(std::string_view key, std::string_view answer) {
        if (is_json())
            list_.push_back({{"key", std::string{key}}, {"answer", std::string{answer}}, {"error", nullptr}});
        else
            print_line(key, answer);
    }
    void put_failure(std::string_view key, const std::string &why) {
        if (is_json())
            list_.push_back({{"key", std::string{key}}, {"answer", nullptr}, {"error", why}});
        else
            print_line(key, "not added: " + why);
    }
    Json fields(const std::string &name) const { return {{"name", name}, {"answers", list_}}; }

  private:
    static void print_line(std::string_view key, std::string_view answer) {
        print(key);
        print("\t");
        print(answer);
        print("\n");
    }

    Json list_ = Json::array();
};

// Calls use(key) for each key, and pause() before waiting for more of them and at the end. Stops at the first failure.
template <class Use, class Pause>
Outcome for_each_key(const KeysOptions &options, Use use, Pause pause) {
    for (const std::string &key : options.keys)
        if (auto failure = use(std::string_view{key}))
            return failure;
    if (options.from_stdin) {
        LineReader lines{STDIN_FILENO, '\n'};
        LineReader::Next next;
        std::string_view line;
        while ((next = lines.next(&line)) == LineReader::Next::line) {
            if (!line.empty())
                if (auto failure = use(line))
                    return failure;
            if (!lines.is_line_ready())
                pause();
        }
        if (next == LineReader::Next::too_long)
            return Failure{Exit::usage, "line " + std::to_string(lines.line_number()) + " is longer than 1 MiB"};
        if (next == LineReader::Next::failed)
            return Failure{Exit::source_failed, std::string{"cannot read stdin: "} + std::strerror(lines.error())};
    }
    pause();
    return {};
}

int look_up(shmbloom_filter *f, const Keys &keys, std::string_view key) {
    if (!keys.is_u64())
        return shmbloom_contains(f, key.data(), key.size());
    std::uint64_t number = 0; // is valid: check_key() saw it
    shmbloom_parse_number(key.data(), key.size(), keys.hashing().normalization, &number);
    return shmbloom_contains_u64(f, number);
}

Outcome check_key(const Keys &keys, std::string_view key) {
    std::uint64_t hash = 0;
    if (const int r = keys.hash(key, &hash); r < 0)
        return Failure{Exit::usage, keys.why_invalid(key, r)};
    return {};
}

// Sends keys in batches and prints what became of each.
class Adder {
  public:
    Adder(const Where &where, shmbloom_filter *f, const Keys &keys, Answers &answers)
        : where_{where}, f_{f}, keys_{keys}, answers_{answers} {}

    void add(std::string_view key) {
        std::uint64_t hash = 0;
        if (const int r = keys_.hash(key, &hash); r < 0) {
            flush(); // lines come out in the order of the keys
            print_failure(key, Exit::usage, keys_.why_invalid(key, r));
            return;
        }
        batch_.emplace_back(key);
        hashes_.push_back(hash);
        if (batch_.size() == kBatch)
            flush();
    }

    void flush() {
        std::vector<std::uint8_t> answers(batch_.size());
        const int r = batch_.empty() ? 0 : send(answers);
        const std::string why = r < 0 ? why_refused(r) : "";
        for (std::size_t i = 0; i < batch_.size(); ++i)
            if (r < 0)
                print_failure(batch_[i], exit_of(r), why);
            else
                answers_.put(batch_[i], kAnswers[answers[i]]);
        batch_.clear();
        hashes_.clear();
    }

    Exit first_failure() const { return first_failure_; }

  private:
    static constexpr std::size_t kBatch = 8192;

    int send(std::vector<std::uint8_t> &answers) {
        int r = shmbloom__add_hashes(f_, keys_.hashing().hash_domain, hashes_.data(), hashes_.size(), answers.data());
        if (r != -ESTALE || !hash_again())
            return r;
        return shmbloom__add_hashes(f_, keys_.hashing().hash_domain, hashes_.data(), hashes_.size(), answers.data());
    }

    // The filter was made anew with other options. False when a key is not valid for these.
    bool hash_again() {
        shmbloom__hashing hashing{};
        if (shmbloom__get_hashing(f_, &hashing) < 0)
            return false;
        keys_ = Keys{hashing};
        for (std::size_t i = 0; i < batch_.size(); ++i)
            if (keys_.hash(batch_[i], &hashes_[i]) < 0)
                return false;
        return true;
    }

    // The library gives a number; which guard stands behind "busy" can be seen in the filter.
    std::string why_refused(int r) const {
        const shmbloom_info info = get_info(f_);
        if (r != -EBUSY || (info.warnings & SHMBLOOM_INFO_ADDS_REFUSED) == 0)
            return shmbloom_strerror(r);
        const Hint hint = hint_for(where_, info.name, "adds_refused");
        return hint.meaning + "; ended by " + hint.ended_by;
    }

    void print_failure(std::string_view key, Exit code, const std::string &why) {
        answers_.put_failure(key, why);
        if (first_failure_ == Exit::done)
            first_failure_ = code;
    }

    const Where &where_;
    shmbloom_filter *f_;
    Keys keys_;
    Answers &answers_;
    std::vector<std::string> batch_;
    std::vector<std::uint64_t> hashes_;
    Exit first_failure_ = Exit::done;
};

} // namespace

int run(const Where &where, const ContainsOptions &options) {
    auto opened = open_filter(where, options.name);
    if (const Failure *failure = failure_of(opened))
        return fail(*failure);
    shmbloom_filter *f = std::get<Filter>(opened).get();
    auto hashing = get_hashing(f, options.name);
    if (const Failure *failure = failure_of(hashing))
        return fail(*failure);
    const Keys keys{take(std::move(hashing))};

    for (const std::string &key : options.keys) // before the first answer is printed
        if (auto failure = check_key(keys, key))
            return fail(*failure);
    Answers answers;
    bool any_absent = false, any_unverified = false;
    const auto use = [&](std::string_view key) {
        auto failure = check_key(keys, key);
        if (failure)
            return failure;
        const int answer = look_up(f, keys, key);
        any_absent = any_absent || answer == SHMBLOOM_ABSENT;
        any_unverified = any_unverified || answer == SHMBLOOM_UNVERIFIED;
        answers.put(key, kAnswers[answer]);
        return failure;
    };
    const Outcome failure = for_each_key(options, use, flush_output);
    return conclude(answers.fields(options.name), failure,
                    any_unverified ? Exit::unverified
                    : any_absent   ? Exit::negative
                                   : Exit::done);
}

int run(const Where &where, const AddOptions &options) {
    auto opened = open_filter(where, options.name);
    if (const Failure *failure = failure_of(opened))
        return fail(*failure);
    shmbloom_filter *f = std::get<Filter>(opened).get();
    auto hashing = get_hashing(f, options.name);
    if (const Failure *failure = failure_of(hashing))
        return fail(*failure);

    Answers answers;
    Adder adder{where, f, Keys{take(std::move(hashing))}, answers};
    const auto use = [&](std::string_view key) {
        adder.add(key);
        return Outcome{};
    };
    const auto pause = [&] {
        adder.flush();
        flush_output();
    };
    const Outcome failure = for_each_key(options, use, pause);
    pause(); // what was read before the failure is added all the same
    return conclude(answers.fields(options.name), failure, adder.first_failure());
}

} // namespace shmbloom::ctl
