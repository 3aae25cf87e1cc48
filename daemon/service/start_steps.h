// What a start does, step by step; a class only to keep what the steps share. Of start.cpp and the files beside it.
#pragma once

#include <string>
#include <vector>

#include "service/restore.h"
#include "service/start.h"
#include "sys/clock.h"

namespace shmbloom {

class Start {
  public:
    Start(const Options &options, const StateFolder &state, const Uuid &boot)
        : options_{options}, state_{state}, boot_{boot} {}

    Started run();

  private:
    Registry &registry() { return started_.registry; }
    Control &control() { return *started_.control; }

    // start.cpp
    void open_registry();
    void take_over();
    void note_clock();
    void note();
    void go_on_with_journal();

    // start_control.cpp
    bool is_anothers(const ControlRecord &record) const;
    void find_control();
    void forget_readers();
    void name_control();

    // start_leftovers.cpp
    void end_leftovers();
    bool end_segment(const EndingSegment &ending);
    void refuse_adds_if_unreachable(const std::string &name, std::uint64_t generation);
    void end_replaced();

    // start_filters.cpp
    std::optional<std::size_t> find_slot(const FilterRecord &record);
    void take(FilterRecord &record);
    void take_slot(Filter &filter, const shmbloom_slot &slot);
    static void add_doubts(FilterRecord &record, std::uint64_t bits, const std::string &text);
    void lose(Filter &filter, const std::string &reason);
    void make_anew(Filter &filter);

    // start_gates.cpp
    void open_gates();
    void end_foreign_slots();
    void open_slot(Filter &filter);
    std::size_t unused_slot();
    bool is_used(std::size_t slot) const;

    const Options &options_;
    const StateFolder &state_;
    const Uuid boot_;
    const std::uint64_t begun_ns_ = boottime_ns();
    bool same_boot_ = false;
    bool found_copy_ = false;
    bool adopted_control_ = false;
    bool was_clean_ = false;
    Lsn durable_lsn_ = 1; // as the control that was found says
    std::vector<FilterRecord> records_;
    std::unique_ptr<Restore> restore_;
    Started started_;
};

} // namespace shmbloom
