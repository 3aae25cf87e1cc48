#include "service/registry_writer.h"

#include <exception>
#include <utility>

#include "sys/log.h"

namespace shmbloom {

RegistryWriter::RegistryWriter(const StateFolder &folder, Post post, std::function<Registry()> snapshot)
    : folder_{folder}, post_{std::move(post)}, snapshot_{std::move(snapshot)} {}

void RegistryWriter::commit(Change change) {
    waiting_.push_back(std::move(change));
    if (!writing_)
        begin();
}

void RegistryWriter::retry() {
    if (is_failing() && !writing_)
        begin();
}

void RegistryWriter::begin() {
    writing_ = true;
    carried_.insert(carried_.end(), std::make_move_iterator(waiting_.begin()), std::make_move_iterator(waiting_.end()));
    waiting_.clear();
    disk_.run([this, registry = snapshot_()] {
        std::string error;
        try {
            folder_.write_registry(registry);
        } catch (const std::exception &failure) {
            error = failure.what();
        }
        post_([this, error] { end(error); });
    });
}

void RegistryWriter::end(const std::string &error) {
    writing_ = false;
    if (error.empty() && is_failing())
        log::info("the registry can be written again");
    if (!error.empty() && error != error_)
        log::error("the registry cannot be written, changes of filters wait, adds and lookups go on: " + error);
    error_ = error;
    if (!error.empty()) {
        std::vector<decltype(Change::failed)> told; // who is told may commit again, which changes carried_
        for (Change &change : carried_)
            if (change.failed)
                told.push_back(std::exchange(change.failed, nullptr));
        for (const auto &failed : told)
            failed(error);
    } else {
        const std::vector<Change> done = std::exchange(carried_, {});
        for (const Change &change : done)
            change.durable();
    }
    // Also after a failure: those that came meanwhile are to be told of theirs.
    if (!waiting_.empty() && !writing_)
        begin();
}

} // namespace shmbloom
