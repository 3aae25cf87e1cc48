// Text for terminals: escaped, quoted, wrapped.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace shmbloom::ctl {

// As a C string literal in quotes, so that blanks and control characters can be seen; what is longer than `max_bytes`
// is cut and says how long it was. Bytes above 127 pass, they are most likely UTF-8.
std::string escape(std::string_view bytes, std::size_t max_bytes = 60);

// A word that a shell reads back as `word`.
std::string shell_quote(std::string_view word);

// Breaks `text` at blanks so that no line is longer than `width` if it can be helped; lines after the first begin with
// `indent` blanks, the first is taken to begin at column `indent` already.
std::string wrap(std::string_view text, std::size_t indent, std::size_t width = 80);

// "trim,lower" to "trim", "lower": calls `use` for each part that is not empty.
template <class Use>
void split_commas(std::string_view list, Use use) {
    while (!list.empty()) {
        const std::size_t comma = list.find(',');
        const std::string_view part = list.substr(0, comma);
        if (!part.empty())
            use(part);
        list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    }
}

} // namespace shmbloom::ctl
