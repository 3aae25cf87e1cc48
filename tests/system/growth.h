// A growable filter, and a daemon with memory for it.
#pragma once

#include "generations.h"

namespace shmbloom::test {

using Words = std::vector<std::string>;

class Growth : public Generations {
  protected:
    // So much memory that what else runs on this machine plays no part.
    void start(const std::string &max_memory = "2GiB", const Words &more = {},
               const Process::Environment &environment = {}) {
        Words words{"--max-memory", max_memory, "--shm-reserve", "0"};
        words.insert(words.end(), more.begin(), more.end());
        instance.start(words, environment);
    }
    void create_growable(const std::string &capacity, const Words &more = {}) {
        Words words{"GROWABLE", "NOTHING-EXISTS-YET"};
        words.insert(words.end(), more.begin(), more.end());
        create(words, capacity);
    }
    std::uint64_t capacity() { return std::stoull(info("capacity")); }
    Wire::Reply grow(const Words &more = {}) {
        Words words{"GROW"};
        words.insert(words.end(), more.begin(), more.end());
        return FilterWire{instance, "links"}.rebuild(words);
    }
    bool becomes_live() {
        return eventually([&] { return worker->tell("ask never-added") != "2"; });
    }
    // It has room for what it holds, and nothing is under way.
    bool has_room() {
        return eventually([&] {
            return info("building").empty() && std::stoull(info("estimated_keys")) <= capacity() &&
                   std::stoull(info("estimated_keys")) < std::stoull(info("grows_at_keys"));
        });
    }
    // At a rate of no more than p, four standard deviations allowed for chance.
    void expect_rate_kept(std::uint64_t asked) {
        const Answers answers = worker->count("base62", kNeverAdded, asked);
        EXPECT_LE(answers.maybe, maybes_allowed(asked, kRate))
            << "at " << info("estimated_keys") << " of " << capacity();
        EXPECT_EQ(answers.unverified, 0u);
    }
    void restart_without_segments(const Words &more = {}) {
        instance.kill();
        instance.remove_segments();
        start("2GiB", more);
        ASSERT_TRUE(becomes_live());
    }
    // With a journal that is kept no longer than it must, adds are in the hash list after a second or two.
    void wait_for_hash_files(std::uint64_t keys) {
        ASSERT_TRUE(eventually([&] { return info("hash_list_bytes") == std::to_string(8 * keys); }))
            << info("hash_list_bytes");
        ASSERT_FALSE(hash_files().empty());
    }
    std::size_t lines_of_log(const std::string &part) {
        const std::string &log = instance.daemon().log();
        std::size_t count = 0;
        for (auto at = log.find(part); at != std::string::npos; at = log.find(part, at + 1))
            count++;
        return count;
    }
    std::vector<std::filesystem::path> hash_files() { return filter_files(".hashes"); }
    void expect_blocked(const std::string &why) {
        EXPECT_TRUE(eventually([&] { return info("growth_blocked").find(why) != std::string::npos; }))
            << info("growth_blocked");
        EXPECT_TRUE(eventually([&] { return info("warnings").find("growth_blocked") != std::string::npos; }))
            << info("warnings");
    }
    void load_in_bulk(std::uint64_t from, std::uint64_t count) {
        FilterWire wire{instance, "links"};
        ASSERT_EQ(wire.load({"BEGIN"}).text, "OK");
        wire.bulk_range(from, count);
        const auto ended = wire.load({"END"});
        ASSERT_FALSE(ended.is_error()) << ended.text;
        EXPECT_EQ(ended.fields().at("live"), "1");
    }

    static constexpr std::uint64_t kNeverAdded = 1'000'000'000, kLucky = 2'000'000'000;
};

} // namespace shmbloom::test
