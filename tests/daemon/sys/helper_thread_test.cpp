#include "sys/helper_thread.h"

#include <csignal>
#include <future>
#include <gtest/gtest.h>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

namespace shmbloom {
namespace {

TEST(HelperThread, RunsJobsInOrderAndNotAtTheCallers) {
    std::vector<int> ran;
    std::set<std::thread::id> threads;
    {
        HelperThread helper;
        for (int i = 0; i < 1000; i++)
            helper.run([&, i] {
                ran.push_back(i);
                threads.insert(std::this_thread::get_id());
            });
    }
    std::vector<int> expected(1000);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(ran, expected);
    EXPECT_EQ(threads.size(), 1u);
    EXPECT_FALSE(threads.contains(std::this_thread::get_id()));
}

TEST(HelperThread, FinishesEveryJobBeforeItEnds) {
    std::promise<void> may_go_on;
    int ran = 0;
    std::thread opener;
    {
        HelperThread helper;
        helper.run([&] { may_go_on.get_future().wait(); });
        for (int i = 0; i < 100; i++)
            helper.run([&] { ran++; });
        opener = std::thread{[&] { may_go_on.set_value(); }};
    }
    EXPECT_EQ(ran, 100);
    opener.join();
}

TEST(HelperThread, TakesJobsFromSeveralThreadsAndFromItsOwn) {
    int ran = 0; // of the helper's thread alone
    {
        HelperThread helper;
        std::vector<std::thread> callers;
        for (int i = 0; i < 4; i++)
            callers.emplace_back([&] {
                for (int j = 0; j < 250; j++)
                    helper.run([&] {
                        ran++;
                        helper.run([&] { ran++; });
                    });
            });
        for (std::thread &caller : callers)
            caller.join();
        std::promise<void> drained;
        helper.run([&] { helper.run([&] { drained.set_value(); }); });
        drained.get_future().wait();
    }
    EXPECT_EQ(ran, 2000);
}

TEST(HelperThread, LeavesSignalsToTheLoop) {
    sigset_t before;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
    std::promise<sigset_t> mask;
    HelperThread helper;
    helper.run([&] {
        sigset_t now;
        ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
        mask.set_value(now);
    });
    sigset_t theirs = mask.get_future().get();
    for (const int signal : {SIGTERM, SIGINT, SIGALRM, SIGCHLD})
        EXPECT_EQ(::sigismember(&theirs, signal), 1) << signal;
    sigset_t after;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
    EXPECT_EQ(::sigismember(&after, SIGTERM), ::sigismember(&before, SIGTERM));
}

} // namespace
} // namespace shmbloom
