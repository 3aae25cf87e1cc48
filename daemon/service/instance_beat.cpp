// What the daemon looks after once a second.
#include <cstdlib>

#include "service/instance.h"
#include "sys/clock.h"
#include "sys/crash_point.h"
#include "sys/log.h"

namespace shmbloom {
namespace {

constexpr std::int64_t kClockStep_s = 60;

} // namespace

void Instance::beat() {
    control_->beat();
    lsn_clock_.note(boottime_ns() / 1'000'000'000, journal_->next());
    notice_state_folder();
    notice_set_clock();
    if (!control_->is_in_place() && !replacing_control_)
        replace_lost_control();
    for (const auto &[name, filter] : filters_) {
        if (!filter->is_published())
            continue;
        notice_paused(*filter);
        notice_lost_name(filter);
        if (!filter->changing)
            for (const auto &go_on : std::exchange(filter->after_change, {}))
                go_on();
        look_after_growth(filter);
        look_for_holders(filter);
        if (writer_.is_failing() || journal_->failing() || registry_.degraded.since != 0 ||
            state_place_ != StateFolder::Place::here)
            filter->warnings |= SHMBLOOM_WARNING_DEGRADED;
        else
            filter->warnings &= ~SHMBLOOM_WARNING_DEGRADED;
        filter->show_status(*control_, registry_);
    }
    writer_.retry();
    look_after_journal();
}

void Instance::notice_set_clock() {
    const std::int64_t ahead_s = wall_clock_ahead_s();
    if (std::abs(ahead_s - clock_ahead_s_) < kClockStep_s)
        return;
    clock_ahead_s_ = ahead_s;
    log::warning("the clock was set, it is " + std::to_string(std::abs(ahead_s)) + " s " +
                 (ahead_s < 0 ? "behind" : "ahead of") +
                 " what it was at the start: overlaps and retention are not shortened by that, times that are shown go by "
                 "the clock of the start until the next one");
}

// An operator may pause without the daemon, in both gates or in one that he could reach.
void Instance::notice_paused(Filter &filter) {
    // While a resume waits for the registry the gates still have the bit that it is to end. Another change keeps the
    // bit, and the beat after it looks again.
    if (filter.changing)
        return;
    const Gates gates = filter.gates(*control_);
    if ((gates.doubts() & SHMBLOOM_DOUBT_PAUSED) == 0 || filter.record.doubts.contains(SHMBLOOM_DOUBT_PAUSED))
        return;
    gates.doubt(SHMBLOOM_DOUBT_PAUSED);
    filter.record.doubts[SHMBLOOM_DOUBT_PAUSED] = {unix_seconds(), "paused by an operator"};
    filter.record.live_since = 0;
    log::warning("filter '" + filter.record.name + "' was paused: it answers unverified");
    writer_.commit({.durable = [] {}, .failed = nullptr});
}

// The promise first: that a control was lost is durable before another one takes its name.
void Instance::replace_lost_control() {
    log::error("control '" + control_->path() + "' is gone: it is made anew; workers that have it mapped go on");
    replacing_control_ = true;
    registry_.control_lost = true;
    writer_.commit({.durable = [this] { build_control(); }, .failed = nullptr});
}

void Instance::build_control() {
    crash_point("control.lost_durable");
    try {
        auto fresh = std::make_unique<Control>(Control::Create{}, options_.runtime_dir, registry_.state_uuid, boot_);
        fresh->set_next_generation(registry_.next_generation);
        fresh->set_durable_lsn(journal_->durable());
        fresh->set_daemon_pid(static_cast<std::uint64_t>(::getpid()));
        fresh->beat();
        for (const auto &[name, filter] : filters_) {
            if (!filter->is_published())
                continue;
            fresh->write_slot(filter->slot, filter->picture(registry_));
            set_gate(&fresh->slot(filter->slot)->gate, filter->record.generation,
                     filter->record.doubt_bits() | filter->gates(*control_).doubts());
        }
        fresh->publish();
        control_ = std::move(fresh);
        control_->raise_name_counter();
        registry_.control = {control_->path(), control_->uuid(), control_->id()};
        writer_.commit({.durable = [] {}, .failed = nullptr});
    } catch (const std::system_error &error) {
        log::error(std::string{"control cannot be made anew, new workers find none; tried again in a second: "} +
                   error.what());
    }
    replacing_control_ = false;
}

} // namespace shmbloom
