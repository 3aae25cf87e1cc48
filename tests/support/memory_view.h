// Control and segments mapped for writing, as an operator's tool maps them: to see both gates, and to set `paused`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "shmbloom/layout.h"

namespace shmbloom::test {

class MemoryView {
  public:
    explicit MemoryView(const std::string &runtime_dir); // what stands at <runtime dir>/control now; throws

    shmbloom_slot &slot(const std::string &name); // throws when no slot holds it
    std::uint64_t *control_gate(const std::string &name);
    std::uint64_t *segment_gate(const std::string &name); // opened by the name that the slot says; throws

    std::string segment_name(const std::string &name); // without the slash
    const std::uint8_t *state_uuid();

  private:
    struct Mapping;
    std::shared_ptr<Mapping> control_, segment_;
};

// Set by fetch_or, as docs/memory-format.md says.
void pause_gate(std::uint64_t *gate);
std::uint64_t read_gate(const std::uint64_t *gate);

} // namespace shmbloom::test
