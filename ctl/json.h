// The objects of --json: fields are only ever added, in the order of docs/protocol.md; null is unknown.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "result.h"

namespace shmbloom::ctl {

using Json = nlohmann::ordered_json;

Json json_number(std::uint64_t value); // null for SHMBLOOM_UNKNOWN
Json json_count(const std::string &text); // a number as the wire has it; null for anything else
Json json_real(double value);          // null for a negative one
Json json_id(std::uint64_t value);     // text: above 2^53 many readers of JSON would round a number
Json json_hex(std::uint64_t value);    // text of 16 digits
Json json_word(const char *text);      // null for ""
Json json_words(const std::string &commas);

bool is_utf8(const std::string &text); // else it cannot be printed as JSON

std::string hex_text(std::uint64_t value); // 16 digits

// The same fields with `error` and `word` behind them: null, or why the verb did not end well.
Json with_failure(Json fields, const Outcome &failure);

// As it is printed: `schema` first.
std::string json_text(const Json &fields);

std::string word_of(const Failure &failure);

// How a verb ends that prints one object: with --json prints `fields`, with `failure` in them; says the failure on
// stderr. Returns the exit code: the failure's, else `code`.
int conclude(const Json &fields, const Outcome &failure, Exit code = Exit::done);

} // namespace shmbloom::ctl
