#include "service/call_once.h"

#include <gtest/gtest.h>
#include <string>

namespace shmbloom {
namespace {

TEST(Once, CallsAtTheFirstCallAndNeverAgain) {
    std::string told;
    const auto tell = once(std::function<void(std::string)>{[&](std::string text) { told += text; }});
    EXPECT_EQ(told, "");
    tell("first");
    tell("second");
    EXPECT_EQ(told, "first");
}

TEST(Once, HoldsForAllCopiesTogether) {
    int calls = 0;
    const auto first = once(std::function<void()>{[&] { calls++; }});
    const auto second = first;
    second();
    first();
    EXPECT_EQ(calls, 1);
}

TEST(Once, HoldsWhenTheFunctionCallsItself) {
    int calls = 0;
    std::function<void()> tell;
    tell = once(std::function<void()>{[&] {
        calls++;
        tell();
    }});
    tell();
    EXPECT_EQ(calls, 1);
}

TEST(Once, LetsGoOfWhatTheFunctionHeld) {
    const auto held = std::make_shared<int>(1);
    const auto tell = once(std::function<void()>{[held] {}});
    EXPECT_EQ(held.use_count(), 2);
    tell();
    EXPECT_EQ(held.use_count(), 1);
}

} // namespace
} // namespace shmbloom
