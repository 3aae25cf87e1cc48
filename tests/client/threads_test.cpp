// Threads with handles of their own. Run under tsan too.
#include <atomic>
#include <gtest/gtest.h>
#include <thread>

#include "handle.h"
#include "world.h"

namespace shmbloom::test {
namespace {

// Handle, gates and bits made by hand in ordinary memory, so that reader and writer use the same addresses: two
// mappings of one page would hide a race from tsan.
TEST(Threads, ReadGatesAndBitsThatAnotherThreadChanges) {
    const shmbloom_shape shape{SHMBLOOM_LAYOUT_BLOCKED, 2, 64};
    alignas(64) static std::uint64_t words[64 * 8];
    static std::uint64_t control_gate, segment_gate;
    constexpr std::uint64_t live = 5ull << SHMBLOOM_GENERATION_SHIFT;
    control_gate = segment_gate = live;
    std::atomic<int> added{0};
    std::atomic<bool> done{false};
    std::atomic<std::uint64_t> certain{0};

    std::vector<std::thread> readers;
    for (int t = 0; t < 3; t++)
        readers.emplace_back([&] {
            shmbloom_filter f{};
            f.control_gate = &control_gate;
            f.segment_gate = &segment_gate;
            f.name_counter = &shmbloom__no_word;
            f.expected = live;
            f.words = words;
            f.shape = shape;
            f.instructions = shmbloom__best_instructions();
            shmbloom__choose_lookups(&f);
            while (!done) {
                const int known = added;
                for (int key = 0; key < known; key++) {
                    const int answer = shmbloom_contains(&f, &key, sizeof key);
                    if (answer == SHMBLOOM_ABSENT) {
                        ADD_FAILURE() << "absent: " << key;
                        return;
                    }
                    certain += answer == SHMBLOOM_MAYBE;
                }
            }
        });
    for (int key = 0; key < 300; key++) {
        shmbloom_set_bits(words, &shape, shmbloom_hash_bytes(&key, sizeof key, 0, 0));
        added = key + 1;
        const std::uint64_t doubt = key % 3 == 0 ? SHMBLOOM_DOUBT_PAUSED : 0;
        shmbloom_store_gate(&segment_gate, live | doubt);
        shmbloom_store_gate(&control_gate, live | doubt);
        std::this_thread::yield();
    }
    const bool read = eventually([&] { return certain > 1000; });
    done = true;
    for (std::thread &reader : readers)
        reader.join();
    EXPECT_TRUE(read);
}

// The keys 0 to known - 1.
std::vector<std::uint8_t> ask_one_by_one(shmbloom_filter *f, int known) {
    std::vector<std::uint8_t> answers;
    for (int key = 0; key < known; key++)
        answers.push_back(static_cast<std::uint8_t>(shmbloom_contains(f, &key, sizeof key)));
    return answers;
}

std::vector<std::uint8_t> ask_together(shmbloom_filter *f, int known) {
    const auto count = static_cast<std::size_t>(known);
    std::vector<int> numbers(count);
    std::vector<shmbloom_key> keys(count);
    for (std::size_t i = 0; i < count; i++) {
        numbers[i] = static_cast<int>(i);
        keys[i] = {&numbers[i], sizeof numbers[i]};
    }
    std::vector<std::uint8_t> answers(count);
    EXPECT_EQ(shmbloom_contains_many(f, keys.data(), count, answers.data()), 0);
    return answers;
}

TEST(Threads, NeverMissAnAcknowledgedKeyWhileGenerationsComeAndGo) {
    World world;
    Filter &filter = world.create("links");
    std::atomic<int> added{0};
    std::atomic<bool> done{false};
    std::atomic<std::uint64_t> certain{0};
    const std::string folder = world.folder();

    std::vector<std::thread> readers;
    for (int t = 0; t < 3; t++)
        readers.emplace_back([&, t] {
            shmbloom_options options{};
            options.struct_size = sizeof options;
            options.runtime_dir = folder.c_str();
            shmbloom_filter *f = nullptr;
            while (!done) {
                if (f == nullptr && shmbloom_open(&f, "links", &options) != 0) {
                    ADD_FAILURE() << "a filter that is always there does not open";
                    break;
                }
                const int known = added;
                for (const int answer : t == 1 ? ask_together(f, known) : ask_one_by_one(f, known)) {
                    if (answer == SHMBLOOM_ABSENT) {
                        ADD_FAILURE() << "absent, and it was added";
                        done = true;
                        break;
                    }
                    certain += answer == SHMBLOOM_MAYBE;
                }
                if (t == 0) // one opens and closes all the time
                    f = shmbloom_close(f);
                shmbloom_info i{};
                i.struct_size = sizeof i;
                (void)shmbloom_get_info(f, &i);
            }
            shmbloom_close(f);
        });

    const auto add_up_to = [&](int end) {
        for (int key = 0; key < end; key++)
            world.add(filter, std::string_view{reinterpret_cast<const char *>(&key), sizeof key});
    };
    for (int round = 1; round <= 60 && !done; round++) {
        add_up_to(round);
        added = round;
        if (round % 3 == 0)
            world.set_doubts(filter, SHMBLOOM_DOUBT_PAUSED);
        if (round % 3 == 1)
            world.set_doubts(filter, 0);
        if (round % 3 == 2)
            world.switch_generation(filter, [&] { add_up_to(round); });
        std::this_thread::yield();
    }
    world.set_doubts(filter, 0);
    const bool read = eventually([&] { return certain > 5000; });
    done = true;
    for (std::thread &reader : readers)
        reader.join();
    EXPECT_TRUE(read);
}

} // namespace
} // namespace shmbloom::test
