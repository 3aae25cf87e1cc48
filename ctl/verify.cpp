// verify: is every ID of the source in the filter? What is not can be added.
#include <cerrno>
#include <string>
#include <vector>

#include "filter.h"
#include "hints.h"
#include "json.h"
#include "keys.h"
#include "output.h"
#include "source_keys.h"
#include "text.h"
#include "verbs.h"

namespace shmbloom::ctl {

namespace {

constexpr std::size_t kShown = 20;
constexpr std::size_t kBatch = 8192;

class Verify {
  public:
    Verify(const VerifyOptions &options, shmbloom_filter *f, Source &source, const Keys &keys)
        : options_{options}, f_{f}, source_{source}, keys_{keys}, lines_{options, source, keys} {}

    Outcome run() {
        auto failure = source_.start();
        if (!failure)
            failure = lines_.for_each([this](std::string_view line, std::uint64_t hash) { return check(line, hash); },
                                      [this] {
                                          repair();
                                          return broken_;
                                      });
        if (failure) {
            source_.stop();
            return failure;
        }
        return conclude_source();
    }

    Exit code() const {
        if (unverified_ > 0)
            return Exit::unverified;
        return absent_ > repaired_ ? Exit::negative : Exit::done;
    }

    void show(const Where &where) const {
        for (const std::string &key : shown_)
            print("absent " + escape(key) + "\n");
        if (absent_ > shown_.size())
            print("... and " + std::to_string(absent_ - shown_.size()) + " more\n");
        print("checked " + std::to_string(checked_) + ", absent " + std::to_string(absent_) + ", unverified " +
              std::to_string(unverified_) + (options_.repair ? ", repaired " + std::to_string(repaired_) : "") + "\n");
        if (absent_ > repaired_)
            print("adds of these never came here; ended by: " + command_line(where, "verify " + options_.name) +
                  " ... --repair\n");
        if (unverified_ > 0)
            print("unverified says nothing about the keys; " + command_line(where, "status " + options_.name) +
                  " tells why\n");
    }

    Json fields() const {
        return {{"name", options_.name},
                {"checked", checked_},
                {"absent", absent_},
                {"unverified", unverified_},
                {"repaired", repaired_},
                {"first_absent", shown_},
                {"complete", source_.is_end_certain() || options_.expect_at_least.has_value()}};
    }

  private:
    // False: an absent key could not be added.
    bool check(std::string_view line, std::uint64_t hash) {
        ++checked_;
        const int answer = shmbloom__contains_hash(f_, keys_.hashing().hash_domain, hash);
        unverified_ += answer == SHMBLOOM_UNVERIFIED ? 1 : 0;
        if (answer != SHMBLOOM_ABSENT)
            return true;
        ++absent_;
        if (shown_.size() < kShown)
            shown_.emplace_back(line);
        if (options_.repair)
            batch_.push_back(hash);
        return batch_.size() < kBatch || repair();
    }

    bool repair() {
        std::vector<std::uint8_t> answers(batch_.size());
        const int r = batch_.empty() || broken_ ? 0
                                                : shmbloom__add_hashes(f_, keys_.hashing().hash_domain, batch_.data(),
                                                                       batch_.size(), answers.data());
        if (r < 0)
            broken_ = Failure{exit_of(r), "absent keys could not be added: " + std::string{shmbloom_strerror(r)}};
        if (!broken_)
            repaired_ += batch_.size();
        batch_.clear();
        return !broken_;
    }

    Outcome conclude_source() const {
        return check_enough_keys(checked_, options_.expect_at_least, "so nothing was checked");
    }

    const VerifyOptions &options_;
    shmbloom_filter *f_;
    Source &source_;
    const Keys &keys_;
    SourceKeys lines_;
    std::uint64_t checked_ = 0, absent_ = 0, unverified_ = 0, repaired_ = 0;
    std::vector<std::string> shown_;   // the first absent keys
    std::vector<std::uint64_t> batch_; // absent, to be added
    Outcome broken_;                   // why they cannot be
};

} // namespace

int run(const Where &where, const VerifyOptions &options) {
    auto opened = open_filter(where, options.name);
    if (const Failure *failure = failure_of(opened))
        return fail(*failure);
    shmbloom_filter *f = std::get<Filter>(opened).get();
    auto hashing = get_hashing(f, options.name);
    if (const Failure *failure = failure_of(hashing))
        return fail(*failure);
    auto source = Source::open(options);
    if (const Failure *failure = failure_of(source))
        return fail(*failure);
    const Keys keys{take(std::move(hashing))};
    if (!std::get<Source>(source).is_end_certain() && !options.expect_at_least)
        note("the end of a pipe does not prove that its source was complete; --expect-at-least N or --exec does");
    Verify verify{options, f, std::get<Source>(source), keys};
    const Outcome failure = verify.run();
    verify.show(where);
    return conclude(verify.fields(), failure, verify.code());
}

} // namespace shmbloom::ctl
