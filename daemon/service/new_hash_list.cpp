#include "service/new_hash_list.h"

#include <system_error>
#include <utility>

namespace shmbloom {

void NewHashList::open_writer() {
    const std::string folder = to_string(filter_);
    if (!writer_)
        writer_ = std::make_unique<HashListWriter>(state_.open_subfolder(folder), state_.path() + "/" + folder, filter_,
                                                   number_);
}

void NewHashList::write(std::vector<std::uint64_t> hashes) {
    pending_++;
    thread_.run([self = shared_from_this(), hashes = std::move(hashes)] {
        std::string error;
        try {
            self->open_writer();
            self->writer_->write(hashes);
        } catch (const std::system_error &failure) {
            error = failure.what();
        }
        self->post_([self, error] { self->written(error); });
    });
}

void NewHashList::written(const std::string &error) {
    if (error_.empty())
        error_ = error;
    if (--pending_ < kPendingMax)
        for (const auto &go_on : std::exchange(waiting_, {}))
            go_on();
}

void NewHashList::when_room(std::function<void()> go_on) {
    if (pending_ < kPendingMax)
        return go_on();
    waiting_.push_back(std::move(go_on));
}

void NewHashList::finish(std::function<void(const std::string &, const HashFileRecord &)> done) {
    thread_.run([self = shared_from_this(), done = std::move(done)] {
        std::string error;
        HashFileRecord file;
        try {
            self->open_writer();
            file = self->writer_->finish();
        } catch (const std::system_error &failure) {
            error = failure.what();
        }
        self->post_([self, error, file, done] { done(self->error_.empty() ? error : self->error_, file); });
    });
}

} // namespace shmbloom
