// A session's bytes on their way in and out. Neither moves bytes more than a constant number of times on average.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace shmbloom::net {

// Received bytes: consumed at the front, filled at the end. Never grows by itself.
class InputBuffer {
  public:
    std::string_view bytes() const { return {data_.get() + begin_, end_ - begin_}; }
    std::span<char> room() { return {data_.get() + end_, capacity_ - end_}; }
    std::size_t capacity() const { return capacity_; }

    void filled(std::size_t count) { end_ += count; }
    void consume(std::size_t count) {
        begin_ += count;
        if (begin_ == end_)
            begin_ = end_ = 0;
    }

    // Makes room by moving the bytes to the front, if at least as many were consumed as have to be moved.
    void reuse_front() {
        if (begin_ >= end_ - begin_)
            move_to_front();
    }

    // realloc: remaps large blocks instead of copying them, so the old and the new one are never there together.
    bool grow(std::size_t capacity) {
        assert(capacity >= capacity_);
        move_to_front();
        void *grown = std::realloc(data_.get(), capacity);
        if (!grown)
            return false;
        static_cast<void>(data_.release());
        data_.reset(static_cast<char *>(grown));
        capacity_ = capacity;
        return true;
    }

    void release() {
        data_.reset();
        capacity_ = begin_ = end_ = 0;
    }

  private:
    struct Free {
        void operator()(char *data) const { std::free(data); }
    };

    void move_to_front() {
        if (begin_ == 0)
            return;
        std::memmove(data_.get(), data_.get() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }

    std::unique_ptr<char, Free> data_;
    std::size_t capacity_ = 0;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

// Replies not yet taken by the kernel.
class OutputBuffer {
  public:
    std::size_t unread_bytes() const { return text_.size() - begin_; }
    std::string_view bytes() const { return std::string_view{text_}.substr(begin_); }

    void append(std::string &&reply) {
        if (text_.empty())
            text_ = std::move(reply);
        else
            text_ += reply;
    }

    void sent(std::size_t count) {
        begin_ += count;
        if (begin_ == text_.size())
            clear();
        else if (begin_ >= text_.size() / 2)
            text_.erase(0, std::exchange(begin_, 0)); // at least as many go as have to be moved
    }

    void clear() {
        begin_ = 0;
        if (text_.capacity() > kKeptBytes)
            std::string{}.swap(text_); // assigning an empty one would keep the memory
        else
            text_.clear();
    }

  private:
    static constexpr std::size_t kKeptBytes = 512; // by an idle session, of which there may be thousands

    std::string text_;
    std::size_t begin_ = 0;
};

} // namespace shmbloom::net
