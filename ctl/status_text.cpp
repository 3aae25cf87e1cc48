// `status` for people: 80 columns, worst first, each doubt and warning with what ends it.
#include "status.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "hints.h"
#include "numbers.h"
#include "output.h"
#include "text.h"

namespace shmbloom::ctl {

namespace {

constexpr std::size_t kIndent = 10; // names up to 8 characters leave a column of their own
constexpr const char *kDoubts[] = {"partial", "warming", "paused", "lossy", "damaged"}; // by bit

std::string age_since(std::uint64_t since_s, std::uint64_t now_s) {
    const std::uint64_t age_s = now_s - std::min(now_s, since_s);
    return age_s < 10 ? std::to_string(age_s) + " s" : format_age(age_s * 1000);
}

std::uint64_t since_of(const shmbloom_info &info, std::string_view doubt) {
    for (std::size_t i = 0; i < std::size(kDoubts); ++i)
        if (doubt == kDoubts[i])
            return info.doubt_since[i];
    return 0;
}

std::string upper(std::string text) {
    for (char &c : text)
        c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return text;
}

std::string indented(std::string_view text) {
    return std::string(kIndent, ' ') + wrap(text, kIndent) + "\n";
}

std::string worst_of(const std::vector<std::string> &words) {
    const auto worst = std::max_element(words.begin(), words.end(), [](const std::string &a, const std::string &b) {
        return severity_of(a) < severity_of(b);
    });
    return worst == words.end() ? "" : *worst;
}

// LIVE, or the worst doubt in capitals; UNVERIFIED when only this handle has one.
std::string state_of(const FilterStatus &filter) {
    if (filter.is_live())
        return "LIVE";
    const std::string worst = worst_of(filter.doubts());
    return worst.empty() ? "UNVERIFIED" : upper(worst);
}

std::string keys_text(const shmbloom_info &info) {
    if (info.estimated_keys == SHMBLOOM_UNKNOWN || info.capacity == SHMBLOOM_UNKNOWN || info.capacity == 0)
        return "keys not known yet";
    const double share = static_cast<double>(info.estimated_keys) / static_cast<double>(info.capacity);
    return format_count(info.estimated_keys) + " of " + format_count(info.capacity) + " keys (" + format_share(share) +
           ")";
}

std::string rate_text(const shmbloom_info &info) {
    const std::string now = info.estimated_fpr < 0 ? "?" : format_share(info.estimated_fpr);
    return "rate " + now + " now, " + format_share(info.fpr) + " asked";
}

// "links     LIVE  ...": a name that is too long takes a line of its own, and so do numbers that do not fit.
std::string first_lines(const FilterStatus &filter) {
    const std::string name = filter.info.name, state = state_of(filter);
    std::string text = name + (name.size() + 2 <= kIndent ? std::string(kIndent - name.size(), ' ')
                                                          : "\n" + std::string(kIndent, ' '));
    text += paint(stdout, filter.is_live() ? Colour::green : Colour::red, state) + "  ";
    const std::string numbers =
        filter.is_known() ? keys_text(filter.info) + ", " + rate_text(filter.info) : "nothing is known about it";
    if (!filter.is_live())
        return text +
               (filter.doubts().empty() ? "every answer to this process is unverified\n"
                                        : "every answer is unverified\n") +
               indented(numbers);
    return text + wrap(numbers, kIndent + state.size() + 2) + "\n";
}

std::string durability_text(std::string_view durability) {
    std::string text = ", durability: " + std::string{durability};
    if (durability == "durable")
        text = ", durable: acknowledged adds outlive a power loss";
    if (durability == "logged")
        text += " (synced every second)";
    if (durability == "memory")
        text += " (adds outlive the daemon, not a restart of the machine)";
    return text;
}

std::string detail(const shmbloom_info &info, std::uint64_t now_s) {
    std::string text;
    if (info.live != 0 && info.live_since != 0 && info.live_since != SHMBLOOM_UNKNOWN)
        text = "live for " + age_since(info.live_since, now_s) + ", ";
    text += std::string{info.layout} + ", " +
            (info.memory_bytes == SHMBLOOM_UNKNOWN ? "memory not known" : format_bytes(info.memory_bytes));
    if (info.huge_page_bytes != 0 && info.huge_page_bytes != SHMBLOOM_UNKNOWN)
        text += " (" + format_bytes(info.huge_page_bytes) + " in huge pages)";
    text += ", generation " + std::to_string(info.generation) + ", key type " + info.key_type;
    if (info.normalize[0] != '\0')
        text += std::string{", normalize "} + info.normalize;
    text += durability_text(info.durability);
    if (const auto days = days_until_full(info))
        text += ", full in " + format_age(static_cast<std::uint64_t>(std::min(*days, 36500.0) * 86'400'000));
    if (info.adds_refused != 0 && info.adds_refused != SHMBLOOM_UNKNOWN)
        text += ", " + format_count(info.adds_refused) + " adds refused";
    return indented(text);
}

// `word`, what it means, and on the next line what ends it; a command is never broken, so that it can be copied.
std::string explained(const Where &where, const FilterStatus &filter, const std::string &word,
                      const std::string &title) {
    const Hint hint = hint_for(where, filter.info.name, word);
    if (hint.meaning.empty())
        return indented(title);
    const bool is_command = hint.ended_by.starts_with("shmbloomctl ");
    const std::string ended_by = "ended by: " + hint.ended_by;
    return indented(title + ": " + hint.meaning) + std::string(kIndent + 2, ' ') +
           (is_command ? ended_by : wrap(ended_by, kIndent + 2)) + "\n";
}

std::string doubt_lines(const Where &where, const FilterStatus &filter, const std::string &word, std::uint64_t now_s) {
    const std::uint64_t since = since_of(filter.info, word);
    const bool known = since != 0 && since != SHMBLOOM_UNKNOWN;
    std::string title = known ? word + " for " + age_since(since, now_s) : word;
    if (const auto reason = filter.reasons.find(word);
        reason != filter.reasons.end() && !reason->second.empty() && reason->second != "paused by an operator")
        title += " (" + reason->second + ")";
    return explained(where, filter, word, title);
}

// Of generations, with what belongs to each; a command is never broken.
std::string generation_text(const Where &where, const FilterStatus &filter, std::uint64_t now_s) {
    std::string text;
    if (filter.details) {
        const shmbloom_info &info = filter.info;
        const bool known = info.estimated_keys != SHMBLOOM_UNKNOWN && info.capacity != SHMBLOOM_UNKNOWN;
        const Filling filling = known ? Filling{info.estimated_keys, info.capacity, info.keys_per_day} : Filling{};
        for (const GenerationLine &line :
             generation_lines(where, info.name, filter.details->generations, filling, now_s))
            text += indented(line.text) +
                    (line.act.empty() ? "" : std::string(kIndent + 2, ' ') + line.label + ": " + line.act + "\n");
    }
    if (filter.holders)
        for (const std::string &line : holder_lines(*filter.holders, filter.info.generation))
            text += indented(line);
    return text;
}

std::string block(const Where &where, const FilterStatus &filter, std::uint64_t now_s) {
    std::string text = first_lines(filter);
    for (const std::string &word : filter.doubts())
        text += doubt_lines(where, filter, word, now_s);
    if (filter.info.handle_doubts != 0)
        text += indented(std::string{"here: "} + filter.info.handle_doubts_text);
    if (!filter.error.empty())
        text += indented("here: " + filter.error);
    if (filter.wrong_absents != 0 && filter.wrong_absents != SHMBLOOM_UNKNOWN)
        text +=
            indented(paint(stdout, Colour::red, "wrong absent " + format_count(filter.wrong_absents)) +
                     ": keys that the source has were answered absent; find which adds were not sent here, pause it "
                     "meanwhile") +
            std::string(kIndent + 2, ' ') + command_line(where, "pause " + std::string{filter.info.name}) + "\n";
    for (const std::string &word : filter.warnings())
        text += explained(where, filter, word, "warning " + word);
    if (filter.is_known())
        text += detail(filter.info, now_s) + generation_text(where, filter, now_s);
    return text;
}

std::string daemon_line(const Listing &place, const std::string &pid) {
    const std::string age = format_age(place.heartbeat_age_ms);
    std::string text;
    if (place.is_daemon_running())
        text = "daemon running" + pid + ", heartbeat " + age + " ago";
    else if (place.hangs)
        text = paint(stdout, Colour::red, "daemon hangs or is stopped" + pid + ", heartbeat stopped " + age + " ago") +
               "; lookups go on, adds do not";
    else
        text = paint(stdout, Colour::red, "daemon not running, heartbeat stopped " + age + " ago") +
               "; lookups go on, adds do not";
    // The folder goes to a line of its own when it does not fit: a path is never cut.
    const std::string folder = "runtime folder " + place.runtime_dir;
    return text + (text.size() + 2 + folder.size() <= 80 ? "  " : "\n") + folder + "\n";
}

// Known from any filter's handle; only worth a word while it is alive.
std::string pid_text(const Status &status) {
    for (const FilterStatus &filter : status.filters)
        if (filter.is_known() && filter.info.daemon_pid != 0)
            return ", pid " + std::to_string(filter.info.daemon_pid);
    return "";
}

} // namespace

std::string status_text(const Where &where, const Status &status, std::uint64_t now_s) {
    std::string text = status.place ? daemon_line(*status.place, pid_text(status)) : "";
    if (status.state)
        text += state_line(*status.state);
    if (status.filters.empty())
        text += "no filters; " + command_line(where, "create NAME --capacity N --fpr P") + " makes one\n";
    for (const FilterStatus &filter : status.filters)
        text += block(where, filter, now_s);
    return text;
}

std::string status_text(const Where &where, const FilterStatus &filter, std::uint64_t now_s) {
    std::string text = block(where, filter, now_s);
    if (filter.info.heartbeat_age_ms == SHMBLOOM_UNKNOWN)
        return text;
    const Listing place{{}, filter.info.runtime_dir, filter.info.heartbeat_age_ms, false, filter.info.daemon_pid == 0};
    return text + daemon_line(place, "");
}

} // namespace shmbloom::ctl
