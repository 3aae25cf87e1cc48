// Lines from a descriptor, one by one or in blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace shmbloom::ctl {

class LineReader {
  public:
    enum class Next {
        line,
        end,         // end of file; a last line without separator was given as a line
        too_long,    // the line is longer than a key may be; `line` holds its beginning. Nothing more can be read
        failed,      // read() failed; error() tells
        interrupted, // interrupt_fd became readable
    };

    // Reads `fd` and looks at `interrupt_fd` (-1: none) whenever it would wait; owns neither.
    LineReader(int fd, char separator, int interrupt_fd = -1);

    // The line without its separator; it lives until the next call.
    Next next(std::string_view *line);

    // All lines that are there, with their separators, or Next::end; as next(), the last one may have none, and what is
    // too long stands alone. For whoever takes lines apart faster than one call each; line_number() does not count them,
    // and lines in the middle may be longer than a key, too.
    Next next_block(std::string_view *lines);

    // True while the next line can be given without reading: else a caller that batches had better send what it has,
    // because the source may be a person.
    bool is_line_ready();

    std::uint64_t line_number() const { return line_number_; } // of the line given last, from 1
    std::uint64_t bytes_read() const { return bytes_read_; }
    std::uint64_t bytes_given() const { return bytes_read_ - (end_ - begin_); } // of these, already given as lines
    int error() const { return error_; }

  private:
    const char *find_separator();
    Next read_more();
    Next take_rest(std::string_view *line);

    int fd_;
    char separator_;
    int interrupt_fd_;
    std::vector<char> buffer_;
    std::size_t begin_ = 0, end_ = 0;
    std::size_t searched_ = 0; // no separator from begin_ to here, so that a long line is not searched again and again
    bool at_end_ = false;
    std::uint64_t line_number_ = 0;
    std::uint64_t bytes_read_ = 0;
    int error_ = 0;
};

} // namespace shmbloom::ctl
