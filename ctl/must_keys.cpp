#include "must_keys.h"

#include <algorithm>
#include <charconv>

#include "source_keys.h"
#include "text.h"
#include "words.h"

namespace shmbloom::ctl {

namespace {

constexpr std::size_t kBatch = 65536;
constexpr std::string_view kMissing = "missing: ";

Failure of_file(const std::string &file, Failure failure) {
    failure.text = "--must-contain " + shell_quote(file) + ": " + failure.text;
    return failure;
}

} // namespace

Result<MustKeys> MustKeys::read(const SourceOptions &options, const std::string &file, const Keys &keys) {
    SourceOptions of_must;
    of_must.name = options.name;
    of_must.file = file;
    of_must.nul_separated = options.nul_separated;
    of_must.keep_blanks = options.keep_blanks;
    auto opened = Source::open(of_must);
    if (const Failure *failure = failure_of(opened))
        return of_file(file, *failure);
    Source &source = std::get<Source>(opened);
    if (!source.is_end_certain())
        return of_file(file, {Exit::usage, "a regular file is needed, since the end of a pipe proves nothing"});
    MustKeys must;
    SourceKeys lines{of_must, source, keys};
    auto failure = lines.for_each(
        [&](std::string_view line, std::uint64_t hash) {
            must.hashes_.push_back(hash);
            must.text_ += line;
            must.ends_.push_back(must.text_.size());
            return true;
        },
        [] { return Outcome{}; });
    if (!failure)
        failure = check_enough_keys(must.hashes_.size(), {}, "so it would check nothing");
    if (failure)
        return of_file(file, *failure);
    return must;
}

Outcome MustKeys::send(FeedSession &session) const {
    for (std::size_t at = 0; at < hashes_.size(); at += kBatch) {
        const auto begin = hashes_.begin() + static_cast<std::ptrdiff_t>(at);
        const auto end = begin + static_cast<std::ptrdiff_t>(std::min(kBatch, hashes_.size() - at));
        const auto told = session.tell("MUST", {begin, end});
        if (const Failure *failure = failure_of(told))
            return *failure;
    }
    return {};
}

std::vector<std::string> MustKeys::missing_in(std::string_view text) const {
    std::vector<std::string> keys;
    for (const std::size_t position : read_missing_positions(text)) {
        if (position >= ends_.size())
            continue;
        const std::size_t begin = position == 0 ? 0 : ends_[position - 1];
        keys.push_back(text_.substr(begin, ends_[position] - begin));
    }
    return keys;
}

std::vector<std::size_t> read_missing_positions(std::string_view text) {
    std::vector<std::size_t> positions;
    const std::size_t found = text.find(kMissing);
    if (found == std::string_view::npos)
        return positions;
    const char *at = text.data() + found + kMissing.size(), *const end = text.data() + text.size();
    for (;;) {
        std::size_t position = 0;
        const auto [behind, error] = std::from_chars(at, end, position);
        if (error != std::errc{})
            return positions;
        positions.push_back(position);
        if (behind == end || *behind != ',')
            return positions;
        at = behind + 1;
    }
}

} // namespace shmbloom::ctl
