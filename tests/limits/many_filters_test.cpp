// As many filters as an instance can have.
#include <gtest/gtest.h>

#include "handle.h"
#include "instance.h"
#include "shmbloom/layout.h"

namespace shmbloom::test {
namespace {

std::string name_of(std::size_t i) {
    return "filter-" + std::to_string(i);
}

class ManyFilters : public ::testing::Test {
  protected:
    static constexpr std::size_t kCount = SHMBLOOM_SLOT_COUNT;

    // On many connections at once, since each create waits for the disk.
    void create_all() {
        std::vector<Wire> wires;
        for (std::size_t i = 0; i < 64; i++)
            wires.push_back(instance.wire());
        for (std::size_t i = 0; i < kCount; i += wires.size()) {
            for (std::size_t j = 0; j < wires.size(); j++)
                wires[j].send({"SB.CREATE", name_of(i + j), "CAPACITY", "1", "FPR", "1e-9", "NOTHING-EXISTS-YET"});
            for (Wire &wire : wires)
                ASSERT_FALSE(wire.receive().is_error());
        }
    }

    std::size_t count_answered(const std::string &key, int answer) const {
        std::size_t count = 0;
        for (std::size_t i = 0; i < handles.size(); i++)
            count += contains(handles[i], key + name_of(i)) == answer;
        return count;
    }

    TestInstance instance;
    std::vector<Handle> handles; // one for each filter, opened once
};

TEST_F(ManyFilters, AreAllServedAndTheNextIsRefused) {
    instance.start();
    create_all();
    const Finished refused = instance.ctl({"create", "one-more", "--capacity", "1", "--fpr", "0.5"});
    EXPECT_EQ(refused.code, 10);
    EXPECT_NE(refused.log.find("at most 1024 filters"), std::string::npos) << refused.log;
    const auto reply = instance.wire().call({"SB.CREATE", "one-more", "CAPACITY", "1", "FPR", "0.5"});
    EXPECT_EQ(reply.word(), "NOSPC");
    EXPECT_EQ(instance.segment_names().size(), kCount);

    for (std::size_t i = 0; i < kCount; i++) {
        handles.push_back(open_handle(instance.runtime_dir(), name_of(i)));
        ASSERT_EQ(add(handles[i], "in " + name_of(i)), 0) << i;
    }
    EXPECT_EQ(count_answered("in ", 1), kCount);
    EXPECT_EQ(count_answered("not in ", 0), kCount); // the smallest: 4,096 bits, of which 30 are set

    instance.kill();
    EXPECT_EQ(count_answered("in ", 1), kCount);
    instance.start();
    EXPECT_EQ(count_answered("in ", 1), kCount);
    EXPECT_EQ(count_answered("not in ", 0), kCount);
    const std::string &log = instance.daemon().log();
    std::size_t adopted = 0;
    for (auto at = log.find(" adopted\n"); at != std::string::npos; at = log.find(" adopted\n", at + 1))
        adopted++;
    EXPECT_EQ(adopted, kCount);
    for (std::size_t i = 0; i < kCount; i += 100)
        EXPECT_EQ(add(handles[i], "after " + name_of(i)), 0) << i;

    for (const std::vector<std::string> &status : {std::vector<std::string>{"status"}, {"status", "--json"}}) {
        const std::string text = instance.must_ctl(status);
        std::size_t listed = 0;
        for (std::size_t i = 0; i < kCount; i++)
            for (const char *end : {" ", "\"", "\n"})
                if (text.find(name_of(i) + end) != std::string::npos) {
                    listed++;
                    break;
                }
        EXPECT_EQ(listed, kCount) << status.back();
    }
    EXPECT_EQ(instance.wire().call({"SB.INFO"}).elements.size(), kCount);

    instance.must_ctl({"drop", name_of(7), "--yes"});
    instance.must_ctl({"create", "one-more", "--capacity", "1", "--fpr", "1e-9", "--nothing-exists-yet"});
    EXPECT_EQ(contains(handles[7], "in " + name_of(7)), 2);
    EXPECT_EQ(contains(open_handle(instance.runtime_dir(), "one-more"), "x"), 0);
}

} // namespace
} // namespace shmbloom::test
