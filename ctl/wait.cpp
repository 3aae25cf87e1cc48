// wait: until a filter is live, for what must not start before.
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "filter.h"
#include "json.h"
#include "output.h"
#include "status.h"
#include "verbs.h"

namespace shmbloom::ctl {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPoll{50};

// Opens the filter as soon as there is one; then asks its handle.
class Watched {
  public:
    Watched(const Where &where, const std::string &name) : where_{where}, name_{name} {}

    // What keeps it from being live; "" when it is. `failure_` is set when waiting is no use.
    std::string look() {
        if (!filter_) {
            auto opened = open_filter(where_, name_);
            if (const Failure *failure = failure_of(opened)) {
                // A daemon and a filter may still come; permission and mistakes do not mend themselves.
                if (failure->code != Exit::unreachable && failure->code != Exit::not_found)
                    failure_ = *failure;
                return failure->text;
            }
            filter_ = std::get<Filter>(std::move(opened));
        }
        FilterStatus status;
        status.info = get_info(filter_.get());
        doubts_ = status.info.doubts_text;
        if (status.is_live())
            return "";
        return doubts_.empty() ? status.info.handle_doubts_text : doubts_;
    }

    const Outcome &failure() const { return failure_; }
    const std::string &doubts() const { return doubts_; }

  private:
    const Where &where_;
    const std::string &name_;
    Filter filter_;
    Outcome failure_;
    std::string doubts_;
};

std::uint64_t elapsed_ms(Clock::time_point begin) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count());
}

} // namespace

int run(const Where &where, const WaitOptions &options) {
    const auto begin = Clock::now();
    Watched watched{where, options.name};
    std::string why;
    Outcome failure;
    std::string said;
    while (!(why = watched.look()).empty() && !(failure = watched.failure())) {
        if (why != std::exchange(said, why))
            note("waiting for '" + options.name + "': " + why);
        const std::uint64_t waited_ms = elapsed_ms(begin);
        if (options.timeout_s && waited_ms >= *options.timeout_s * 1000) {
            failure = Failure{Exit::timeout, "'" + options.name + "' is not live after " +
                                                 std::to_string(*options.timeout_s) + " s: " + why};
            break;
        }
        std::this_thread::sleep_for(kPoll);
    }
    if (!failure)
        print(options.name + " is live\n");
    return conclude({{"name", options.name},
                     {"live", why.empty()},
                     {"doubts", json_words(watched.doubts())},
                     {"waited_ms", elapsed_ms(begin)}},
                    failure);
}

} // namespace shmbloom::ctl
