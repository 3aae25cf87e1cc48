// The words of an inline command, separated by blanks. "..." keeps blanks together and knows \n \r \t \xHH; any other
// character after \ stands for itself. Quotes may begin inside a word, and end only at its end.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace shmbloom::net {

// Returns what is wrong with the line, "" if nothing is. The words point into `text`.
std::string split_inline(std::string_view line, std::size_t greatest_count, std::string *text,
                         std::vector<std::string_view> *words);

} // namespace shmbloom::net
