#include "output.h"

#include <cstdlib>
#include <unistd.h>

namespace shmbloom::ctl {

namespace {

const char *code_of(Colour colour) {
    switch (colour) {
    case Colour::red:
        return "\033[1;31m";
    case Colour::yellow:
        return "\033[33m";
    case Colour::green:
        return "\033[32m";
    case Colour::bold:
        return "\033[1m";
    }
    return "";
}

} // namespace

int fail(const Failure &failure) {
    std::fflush(stdout);
    std::fprintf(stderr, "shmbloomctl: %s\n", failure.text.c_str());
    return static_cast<int>(failure.code);
}

bool is_terminal(std::FILE *stream) {
    return ::isatty(::fileno(stream)) == 1;
}

std::string paint(std::FILE *stream, Colour colour, std::string_view text) {
    const char *no_color = std::getenv("NO_COLOR");
    if ((no_color != nullptr && *no_color != '\0') || !is_terminal(stream))
        return std::string{text};
    return code_of(colour) + std::string{text} + "\033[0m";
}

void print(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
}

bool flush_output() {
    return std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
}

} // namespace shmbloom::ctl
