#include "service/bulk_adder.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace shmbloom {
namespace {

// Below that, handing a part to another thread costs more than it saves.
constexpr std::size_t kPartMin = 16384;

struct Job {
    std::shared_ptr<Segment> segment;
    std::vector<std::uint64_t> hashes;
    BulkAdder::Set set;
    std::atomic<std::size_t> parts_left = 0;
    std::atomic<std::uint64_t> fresh = 0;
};

} // namespace

BulkAdder::BulkAdder(Post post) : post_{std::move(post)} {}

void BulkAdder::add(const std::shared_ptr<Segment> &segment, std::vector<std::uint64_t> hashes, Set set) {
    // Not before they are needed: most daemons never load anything.
    while (threads_.size() < std::max(1u, std::thread::hardware_concurrency()))
        threads_.push_back(std::make_unique<HelperThread>());
    const auto job = std::make_shared<Job>();
    job->segment = segment;
    job->hashes = std::move(hashes);
    job->set = std::move(set);
    jobs_++;
    const std::size_t parts = std::clamp<std::size_t>(job->hashes.size() / kPartMin, 1, threads_.size());
    job->parts_left = parts;
    for (std::size_t i = 0; i < parts; i++) {
        const std::size_t from = job->hashes.size() * i / parts, to = job->hashes.size() * (i + 1) / parts;
        threads_[next_thread_++ % threads_.size()]->run([this, job, from, to] {
            job->fresh += job->segment->set(std::span{job->hashes}.subspan(from, to - from));
            if (--job->parts_left == 0)
                post_([this, job] {
                    job->set(job->fresh);
                    ended();
                });
        });
    }
}

void BulkAdder::when_room(std::function<void()> go_on) {
    if (jobs_ < kJobsMax)
        return go_on();
    waiting_.push_back(std::move(go_on));
}

void BulkAdder::ended() {
    jobs_--;
    if (jobs_ >= kJobsMax || waiting_.empty())
        return;
    for (const auto &go_on : std::exchange(waiting_, {}))
        go_on();
}

} // namespace shmbloom
