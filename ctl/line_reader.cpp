#include "line_reader.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <unistd.h>

#include "shmbloom/key.h"

namespace shmbloom::ctl {

namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 20;
// Room for the longest line and a block to read behind it.
constexpr std::size_t kBufferBytes = SHMBLOOM_KEY_MAX_BYTES + 1 + kBlockBytes;

} // namespace

LineReader::LineReader(int fd, char separator, int interrupt_fd)
    : fd_{fd}, separator_{separator}, interrupt_fd_{interrupt_fd}, buffer_(kBufferBytes) {}

const char *LineReader::find_separator() {
    if (searched_ >= end_)
        return nullptr;
    const void *found = std::memchr(buffer_.data() + searched_, separator_, end_ - searched_);
    searched_ = found != nullptr ? static_cast<std::size_t>(static_cast<const char *>(found) - buffer_.data()) : end_;
    return static_cast<const char *>(found);
}

bool LineReader::is_line_ready() {
    return find_separator() != nullptr || (at_end_ && begin_ < end_);
}

LineReader::Next LineReader::next(std::string_view *line) {
    for (;;) {
        const char *separator = find_separator();
        const std::size_t size = (separator != nullptr ? searched_ : end_) - begin_;
        if (size > SHMBLOOM_KEY_MAX_BYTES) {
            *line = {buffer_.data() + begin_, size};
            ++line_number_;
            return Next::too_long;
        }
        if (separator != nullptr) {
            *line = {buffer_.data() + begin_, size};
            begin_ = searched_ = begin_ + size + 1;
            ++line_number_;
            return Next::line;
        }
        if (at_end_)
            return take_rest(line);
        if (const Next result = read_more(); result != Next::line)
            return result;
    }
}

LineReader::Next LineReader::next_block(std::string_view *lines) {
    for (;;) {
        const char *begin = buffer_.data() + begin_;
        const std::size_t size = end_ - begin_;
        const void *last = size > 0 ? ::memrchr(begin, separator_, size) : nullptr;
        if (last != nullptr) {
            *lines = {begin, static_cast<std::size_t>(static_cast<const char *>(last) - begin) + 1};
            begin_ = searched_ = begin_ + lines->size();
            return Next::line;
        }
        *lines = {begin, size};
        if (size > SHMBLOOM_KEY_MAX_BYTES)
            return Next::too_long;
        if (at_end_) {
            begin_ = searched_ = end_;
            return size > 0 ? Next::line : Next::end;
        }
        if (const Next result = read_more(); result != Next::line)
            return result;
    }
}

LineReader::Next LineReader::take_rest(std::string_view *line) {
    if (begin_ == end_)
        return Next::end;
    *line = {buffer_.data() + begin_, end_ - begin_};
    begin_ = searched_ = end_;
    ++line_number_;
    return Next::line;
}

// Next::line: there may be more to see now.
LineReader::Next LineReader::read_more() {
    // What is left is the beginning of one line; moved to the front, a whole block fits behind it.
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    searched_ -= begin_;
    begin_ = 0;
    for (;;) {
        std::array<pollfd, 2> ready{{{fd_, POLLIN, 0}, {interrupt_fd_, POLLIN, 0}}};
        if (::poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) {
            error_ = errno;
            return Next::failed;
        }
        if (ready[1].revents != 0)
            return Next::interrupted;
        if (ready[0].revents == 0)
            continue;
        const ssize_t n = ::read(fd_, buffer_.data() + end_, std::min(kBlockBytes, buffer_.size() - end_));
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n < 0) {
            error_ = errno;
            return Next::failed;
        }
        at_end_ = n == 0;
        end_ += static_cast<std::size_t>(n);
        bytes_read_ += static_cast<std::uint64_t>(n);
        return Next::line;
    }
}

} // namespace shmbloom::ctl
