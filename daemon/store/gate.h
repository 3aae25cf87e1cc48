// A filter's two gates, in the control slot and in the segment, and the three ways they may change.
//
// An operator may set `paused` at any moment without the daemon (fetch_or), so every store here is a compare-exchange
// that keeps that bit, and only `resume` clears it.
#pragma once

#include <cstdint>

#include "shmbloom/layout.h"

namespace shmbloom {

constexpr std::uint64_t make_gate(std::uint64_t generation, std::uint32_t doubts) {
    return generation << SHMBLOOM_GENERATION_SHIFT | doubts;
}

// Stores generation and doubts, keeping `paused` if somebody set it. Release: what was stored before is seen by whoever
// sees this gate.
inline void set_gate(std::uint64_t *gate, std::uint64_t generation, std::uint32_t doubts) {
    std::uint64_t before = __atomic_load_n(gate, __ATOMIC_RELAXED);
    std::uint64_t after;
    do
        after = make_gate(generation, doubts) | (before & SHMBLOOM_DOUBT_PAUSED);
    while (!__atomic_compare_exchange_n(gate, &before, after, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

// No filter here any more. `paused` goes too: it belonged to what ended.
inline void end_gate(std::uint64_t *gate) {
    shmbloom_store_gate(gate, 0);
}

// Nobody feeds this segment any more, but its filter goes on: its readers are cut off, `paused` is kept for the next start.
inline void cut_gate(std::uint64_t *gate) {
    __atomic_fetch_and(gate, std::uint64_t{SHMBLOOM_DOUBT_PAUSED}, __ATOMIC_RELEASE);
}

inline std::uint32_t doubts_of(std::uint64_t gate) {
    return static_cast<std::uint32_t>(gate & SHMBLOOM_DOUBT_MASK);
}

inline std::uint64_t generation_of(std::uint64_t gate) {
    return gate >> SHMBLOOM_GENERATION_SHIFT;
}

struct Gates {
    std::uint64_t *control = nullptr;
    std::uint64_t *segment = nullptr; // null while a filter has no segment

    // More certain, or published: the caller has made the registry durable; the segment's gate first, control's last.
    void open(std::uint64_t generation, std::uint32_t doubts) const {
        if (segment != nullptr)
            set_gate(segment, generation, doubts);
        set_gate(control, generation, doubts);
    }

    // The one act that ends `paused`. The caller has made the registry durable.
    void resume() const {
        if (segment != nullptr)
            __atomic_fetch_and(segment, ~std::uint64_t{SHMBLOOM_DOUBT_PAUSED}, __ATOMIC_RELEASE);
        __atomic_fetch_and(control, ~std::uint64_t{SHMBLOOM_DOUBT_PAUSED}, __ATOMIC_RELEASE);
    }

    // Less certain: before the registry, before the reply.
    void doubt(std::uint32_t doubts) const {
        if (segment != nullptr)
            __atomic_fetch_or(segment, std::uint64_t{doubts}, __ATOMIC_RELEASE);
        __atomic_fetch_or(control, std::uint64_t{doubts}, __ATOMIC_RELEASE);
    }

    void end() const {
        if (segment != nullptr)
            end_gate(segment);
        end_gate(control);
    }

    std::uint32_t doubts() const {
        return doubts_of(shmbloom_load_gate(control)) |
               (segment != nullptr ? doubts_of(shmbloom_load_gate(segment)) : 0);
    }
};

} // namespace shmbloom
