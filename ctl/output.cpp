#include "output.h"

#include <cstdlib>
#include <unistd.h>

#include "json.h"
#include "words.h"

namespace shmbloom::ctl {

namespace {

bool json_asked = false;
bool json_printed = false;

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
    if (json_asked && !json_printed)
        print_json(json_text(with_failure(Json::object(), failure)));
    std::fflush(stdout);
    std::fprintf(stderr, "shmbloomctl: %s: %s\n", word_of(failure).c_str(), failure.text.c_str());
    return static_cast<int>(failure.code);
}

void note(std::string_view text) {
    std::fflush(stdout);
    std::fprintf(stderr, "shmbloomctl: %.*s\n", static_cast<int>(text.size()), text.data());
}

void use_json() {
    json_asked = true;
}

bool is_json() {
    return json_asked;
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
    if (!json_asked)
        std::fwrite(text.data(), 1, text.size(), stdout);
}

void print_json(std::string_view object) {
    json_printed = true;
    std::fwrite(object.data(), 1, object.size(), stdout);
}

bool flush_output() {
    return std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
}

} // namespace shmbloom::ctl
