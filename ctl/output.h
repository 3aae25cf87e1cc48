// What the tool prints besides its results, and when it may use colours.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "result.h"

namespace shmbloom::ctl {

// "shmbloomctl: WORD: text" on stderr; with --json also an object of `error` and `word`, unless one was printed.
// Returns the code as main() returns it.
int fail(const Failure &failure);

// A line on stderr for people: what will not be part of any result.
void note(std::string_view text);

// From here on print() is silent, and print_json() gives the one object that --json asks for.
void use_json();
bool is_json();

bool is_terminal(std::FILE *stream);

enum class Colour { red, yellow, green, bold };

// `text` in a colour if `stream` is a terminal and NO_COLOR is not set (https://no-color.org), else as it is.
std::string paint(std::FILE *stream, Colour colour, std::string_view text);

// Text for people: writes all of it to stdout; flushed at exit, or by flush_output().
void print(std::string_view text);
void print_json(std::string_view object);

// False when stdout cannot take what was printed (full disk, closed): a half-written result must not end with 0.
bool flush_output();

} // namespace shmbloom::ctl
