// In place of sys/helper_thread.cpp.
#include "helpers_in_hand.h"

#include <algorithm>
#include <vector>

#include "choices.h"
#include "sys/helper_thread.h"

namespace shmbloom {
namespace {

using Jobs = std::deque<HelperThread::Job>;

// Of each helper there is, in the order in which they were made.
std::vector<Jobs *> helpers;

void do_next(Jobs &jobs) {
    const HelperThread::Job job = std::move(jobs.front());
    jobs.pop_front();
    job();
}

} // namespace

HelperThread::HelperThread() {
    helpers.push_back(&jobs_);
}

HelperThread::~HelperThread() {
    while (!jobs_.empty())
        do_next(jobs_);
    std::erase(helpers, &jobs_);
}

void HelperThread::run(Job job) {
    jobs_.push_back(std::move(job));
}

std::size_t helpers_with_work() {
    return static_cast<std::size_t>(std::ranges::count_if(helpers, [](const Jobs *jobs) { return !jobs->empty(); }));
}

void let_work(std::size_t nth) {
    for (Jobs *const jobs : helpers)
        if (!jobs->empty() && nth-- == 0)
            return do_next(*jobs);
    require(false, "that helper has work");
}

} // namespace shmbloom
