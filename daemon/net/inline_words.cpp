#include "net/inline_words.h"

#include <charconv>

namespace shmbloom::net {

namespace {

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

// Takes the escape after a backslash off `rest`.
char take_escape(std::string_view *rest) {
    const char c = rest->front();
    unsigned char byte = 0;
    if (c == 'x' && rest->size() >= 3) {
        const auto [end, error] = std::from_chars(rest->data() + 1, rest->data() + 3, byte, 16);
        if (error == std::errc{} && end == rest->data() + 3) {
            rest->remove_prefix(3);
            return static_cast<char>(byte);
        }
    }
    rest->remove_prefix(1);
    return c == 'n' ? '\n' : c == 'r' ? '\r' : c == 't' ? '\t' : c;
}

// Appends what stands between the quotes, the first of which is taken already. False: there is no second.
bool take_quoted(std::string_view *rest, std::string *text) {
    while (!rest->empty()) {
        const char c = rest->front();
        rest->remove_prefix(1);
        if (c == '"')
            return true;
        if (c != '\\')
            text->push_back(c);
        else if (!rest->empty())
            text->push_back(take_escape(rest));
    }
    return false;
}

// Appends one word; returns what is wrong with it.
std::string take_word(std::string_view *rest, std::string *text) {
    while (!rest->empty() && !is_blank(rest->front())) {
        const char c = rest->front();
        rest->remove_prefix(1);
        if (c != '"') {
            text->push_back(c);
            continue;
        }
        if (!take_quoted(rest, text))
            return "a quote is opened in the inline command and not closed";
        if (!rest->empty() && !is_blank(rest->front()))
            return "a closing quote in the inline command is not followed by a blank";
    }
    return "";
}

} // namespace

std::string split_inline(std::string_view line, std::size_t greatest_count, std::string *text,
                         std::vector<std::string_view> *words) {
    // Words never get longer by unquoting, so the text never moves under the words that point into it.
    text->clear();
    text->reserve(line.size());
    words->clear();
    for (;;) {
        while (!line.empty() && is_blank(line.front()))
            line.remove_prefix(1);
        if (line.empty())
            return "";
        if (words->size() == greatest_count)
            return "more than " + std::to_string(greatest_count) + " arguments, which is the limit";
        const std::size_t begin = text->size();
        if (std::string wrong = take_word(&line, text); !wrong.empty())
            return wrong;
        words->emplace_back(text->data() + begin, text->size() - begin);
    }
}

} // namespace shmbloom::net
