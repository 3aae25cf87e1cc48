#include "json.h"

#include <cstdio>

#include "numbers.h"
#include "output.h"
#include "shmbloom/shmbloom.h"
#include "text.h"
#include "words.h"

namespace shmbloom::ctl {

Json json_number(std::uint64_t value) {
    return value == SHMBLOOM_UNKNOWN ? Json{} : Json(value);
}

Json json_count(const std::string &text) {
    const auto number = parse_count(text);
    return number ? Json(*number) : Json{};
}

Json json_real(double value) {
    return value < 0 ? Json{} : Json(value);
}

Json json_id(std::uint64_t value) {
    return value == SHMBLOOM_UNKNOWN ? Json{} : Json(std::to_string(value));
}

Json json_hex(std::uint64_t value) {
    return value == SHMBLOOM_UNKNOWN ? Json{} : Json(hex_text(value));
}

Json json_word(const char *text) {
    return *text == '\0' ? Json{} : Json(text);
}

Json json_words(const std::string &commas) {
    Json words = Json::array();
    split_commas(commas, [&](std::string_view word) { words.push_back(std::string{word}); });
    return words;
}

bool is_utf8(const std::string &text) {
    try {
        return !Json(text).dump().empty();
    } catch (const Json::type_error &) {
        return false;
    }
}

std::string hex_text(std::uint64_t value) {
    char buffer[24];
    std::snprintf(buffer, sizeof buffer, "%016llx", static_cast<unsigned long long>(value));
    return buffer;
}

Json with_failure(Json fields, const Outcome &failure) {
    fields["error"] = failure ? Json(failure->text) : Json{};
    fields["word"] = failure ? Json(word_of(*failure)) : Json{};
    return fields;
}

std::string json_text(const Json &fields) {
    Json whole{{"schema", 1}};
    whole.update(fields);
    // Keys and folders' names may be no UTF-8: replaced rather than an exception.
    return whole.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string word_of(const Failure &failure) {
    return failure.word.empty() ? word::of(failure.code) : failure.word;
}

int conclude(const Json &fields, const Outcome &failure, Exit code) {
    if (is_json())
        print_json(json_text(with_failure(fields, failure)));
    return failure ? fail(*failure) : static_cast<int>(code);
}

} // namespace shmbloom::ctl
