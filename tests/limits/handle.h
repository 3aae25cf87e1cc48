// This process as a worker.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "shmbloom/shmbloom.h"

namespace shmbloom::test {

struct CloseHandle {
    void operator()(shmbloom_filter *filter) const { shmbloom_close(filter); }
};
using Handle = std::unique_ptr<shmbloom_filter, CloseHandle>;

inline Handle open_handle(const std::string &runtime_dir, const std::string &name,
                          std::int32_t add_timeout_ms = 60'000) {
    char error[512] = "";
    shmbloom_options options{};
    options.struct_size = sizeof options;
    options.runtime_dir = runtime_dir.c_str();
    options.add_timeout_ms = add_timeout_ms;
    options.error_text = error;
    options.error_text_size = sizeof error;
    shmbloom_filter *filter = nullptr;
    if (shmbloom_open(&filter, name.c_str(), &options) < 0)
        throw std::runtime_error{error};
    return Handle{filter};
}

inline int contains(const Handle &handle, std::string_view key) {
    return shmbloom_contains(handle.get(), key.data(), key.size());
}

inline int add(const Handle &handle, std::string_view key) {
    return shmbloom_add(handle.get(), key.data(), key.size());
}

} // namespace shmbloom::test
