// A file of a hash list while hashes come in: written on a helper thread, in order. Used by the loop's thread only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "disk/hash_list.h"
#include "disk/state_folder.h"
#include "sys/helper_thread.h"

namespace shmbloom {

class NewHashList : public std::enable_shared_from_this<NewHashList> {
  public:
    using Post = std::function<void(std::function<void()>)>; // onto the loop, from any thread

    NewHashList(HelperThread &thread, Post post, const StateFolder &state, const Uuid &filter, std::uint64_t number)
        : thread_{thread}, post_{std::move(post)}, state_{state}, filter_{filter}, number_{number} {}

    // What fails is told by `finish`.
    void write(std::vector<std::uint64_t> hashes);
    // At once, or when less waits to be written: the disk must not fill the memory.
    void when_room(std::function<void()> go_on);
    // Synced, and not removed any more.
    void finish(std::function<void(const std::string &error, const HashFileRecord &file)> done);

  private:
    void open_writer();
    void written(const std::string &error);

    static constexpr std::size_t kPendingMax = 16;

    HelperThread &thread_;
    Post post_;
    const StateFolder &state_;
    const Uuid filter_;
    const std::uint64_t number_;
    std::unique_ptr<HashListWriter> writer_; // the thread's
    std::size_t pending_ = 0;
    std::string error_;
    std::vector<std::function<void()>> waiting_;
};

} // namespace shmbloom
