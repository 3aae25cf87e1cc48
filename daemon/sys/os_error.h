// The operating system refused: an exception that says what was tried on what. Caught by main, the dispatcher and the
// helper thread only.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

namespace shmbloom {

[[noreturn]] inline void throw_errno(int error, std::string_view what, std::string_view object) {
    throw std::system_error{error, std::generic_category(), std::string{what} + " '" + std::string{object} + "'"};
}

[[noreturn]] inline void throw_errno(std::string_view what, std::string_view object) {
    throw_errno(errno, what, object);
}

// What was found is not what it should be, and the daemon must not go on: the text says what, and what to do.
class Refusal : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

} // namespace shmbloom
