#include "instance_state.h"

#include <charconv>

#include "numbers.h"
#include "output.h"
#include "text.h"

namespace shmbloom::ctl {

namespace {

// For a status that somebody waits for.
constexpr std::chrono::seconds kTimeout{1};

template <class Number>
std::optional<Number> number_of(const Reply &reply, std::string_view name) {
    const std::string text = reply.field(name);
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size() && !text.empty() ? std::optional{number}
                                                                                     : std::nullopt;
}

std::uint64_t count_of(const Reply &reply, std::string_view name) {
    return number_of<std::uint64_t>(reply, name).value_or(0);
}

InstanceState read_state(const Reply &reply) {
    InstanceState state;
    state.next_lsn = count_of(reply, "next_lsn");
    state.durable_lsn = count_of(reply, "durable_lsn");
    state.journal_files = count_of(reply, "journal_files");
    state.journal_bytes = count_of(reply, "journal_bytes");
    state.journal_limit_bytes = count_of(reply, "journal_limit_bytes");
    state.journal_retention_s = count_of(reply, "journal_retention_s");
    state.journal_oldest_s = number_of<std::uint64_t>(reply, "journal_oldest_s");
    state.degraded = reply.field("degraded");
    state.journal_error = reply.field("journal_error");
    state.snapshots_running = count_of(reply, "snapshots_running");
    state.expected_recovery_seconds = number_of<double>(reply, "expected_recovery_seconds").value_or(0);
    state.last_start = reply.field("last_start");
    state.last_start_ms = count_of(reply, "last_start_ms");
    state.max_memory_bytes = number_of<std::uint64_t>(reply, "max_memory_bytes");
    state.segments_bytes = number_of<std::uint64_t>(reply, "segments_bytes");
    return state;
}

Json json_or_null(const std::optional<std::uint64_t> &number) {
    return number ? Json(*number) : Json{};
}

} // namespace

FilterSnapshots read_snapshots(const Reply &info) {
    return {.count = count_of(info, "snapshots"),
            .hashes_since = count_of(info, "hashes_since_snapshot"),
            .last = number_of<std::uint64_t>(info, "last_snapshot"),
            .last_number = number_of<std::uint64_t>(info, "last_snapshot_number"),
            .last_bytes = number_of<std::uint64_t>(info, "last_snapshot_bytes")};
}

std::optional<InstanceState> ask_state(const std::string &runtime_dir) {
    auto client = Client::connect_to(runtime_dir, kTimeout);
    if (failure_of(client) != nullptr)
        return std::nullopt;
    auto said = std::get<Client>(client).call({"SB.STATE"}, kTimeout);
    auto filters = std::get<Client>(client).call({"SB.INFO"}, kTimeout);
    if (failure_of(said) != nullptr || failure_of(filters) != nullptr)
        return std::nullopt;
    InstanceState state = read_state(std::get<Reply>(said));
    for (const Reply &info : std::get<Reply>(filters).elements)
        state.filters[info.field("uuid")] = {read_snapshots(info), read_generations(info)};
    return state;
}

std::string state_line(const InstanceState &state) {
    std::string text = "journal " + format_bytes(state.journal_bytes) + " in " + std::to_string(state.journal_files) +
                       (state.journal_files == 1 ? " file" : " files") + ", kept " +
                       format_age(state.journal_retention_s * 1000) + "; recovery about " +
                       format_age(static_cast<std::uint64_t>(state.expected_recovery_seconds * 1000)) + "\n";
    if (state.next_lsn != 0)
        text += "durable LSN " + std::to_string(state.durable_lsn) + ", to be noted before a dump (rebuild --since)";
    if (state.next_lsn != 0 && state.max_memory_bytes && state.segments_bytes)
        text += "; memory " + format_bytes(*state.segments_bytes) + " of " + format_bytes(*state.max_memory_bytes);
    text += state.next_lsn != 0 ? "\n" : "";
    if (!state.journal_error.empty())
        text += paint(stdout, Colour::red, wrap("adds are not acknowledged: " + state.journal_error, 0)) + "\n";
    else if (!state.degraded.empty())
        text += paint(stdout, Colour::red, wrap("the disk failed, full snapshots follow: " + state.degraded, 0)) + "\n";
    return text;
}

Json state_object(const InstanceState &state) {
    return {{"next_lsn", json_id(state.next_lsn)},
            {"durable_lsn", json_id(state.durable_lsn)},
            {"journal_files", state.journal_files},
            {"journal_bytes", state.journal_bytes},
            {"journal_limit_bytes", state.journal_limit_bytes},
            {"journal_retention_s", state.journal_retention_s},
            {"journal_oldest_s", json_or_null(state.journal_oldest_s)},
            {"degraded", json_word(state.degraded.c_str())},
            {"journal_error", json_word(state.journal_error.c_str())},
            {"snapshots_running", state.snapshots_running},
            {"expected_recovery_seconds", state.expected_recovery_seconds},
            {"last_start", json_word(state.last_start.c_str())},
            {"last_start_ms", state.last_start_ms},
            {"max_memory_bytes", json_or_null(state.max_memory_bytes)},
            {"segments_bytes", json_or_null(state.segments_bytes)}};
}

} // namespace shmbloom::ctl
