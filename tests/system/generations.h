// A filter that is rebuilt, grows and is rolled back, and a worker that opened it before all that.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <system_error>

#include "eventually.h"
#include "hashed_keys.h"

namespace shmbloom::test {

class Generations : public ::testing::Test {
  protected:
    static constexpr double kRate = 1e-3;

    // `words`: for SB.CREATE, behind the capacity and a rate of 1e-3.
    void create(std::vector<std::string> words, const std::string &capacity = "20000") {
        words.insert(words.begin(), {"CAPACITY", capacity, "FPR", "1e-3"});
        instance.create("links", words);
        worker = std::make_unique<Worker>(instance.worker());
        worker->open("links");
    }
    void create_live() { create({"NOTHING-EXISTS-YET"}); }

    std::string info(const std::string &field) {
        const auto fields = instance.info("links");
        const auto found = fields.find(field);
        return found == fields.end() ? "nil" : found->second;
    }
    std::string next_lsn() { return instance.wire().call({"SB.STATE"}).fields().at("next_lsn"); }
    void add(std::uint64_t from, std::uint64_t count) { FilterWire{instance, "links"}.add_range(from, count); }

    void expect_there(std::uint64_t from, std::uint64_t count) {
        EXPECT_EQ(worker->count("base62", from, count).maybe, count) << from;
    }
    void expect_gone(std::uint64_t from, std::uint64_t count) {
        const Answers answers = worker->count("base62", from, count);
        EXPECT_LE(answers.maybe, maybes_allowed(count, kRate)) << from;
        EXPECT_EQ(answers.unverified, 0u) << from;
    }
    void expect_unverified(std::uint64_t from, std::uint64_t count) {
        EXPECT_EQ(worker->count("base62", from, count).unverified, count) << from;
    }
    // No segment and no file beside those that the registry names; they go a little later than a reply comes.
    void expect_nothing_left_behind() {
        EXPECT_TRUE(eventually([&] { return instance.segment_names() == instance.recorded_segment_names(); }));
        const auto is_as_recorded = [&] { return files() == instance.recorded_files_of("links"); };
        EXPECT_TRUE(eventually(is_as_recorded)) << ::testing::PrintToString(files()) << " but recorded are "
                                                << ::testing::PrintToString(instance.recorded_files_of("links"));
    }

    // What a rebuild that was refused must leave as it was.
    std::map<std::string, std::string> state() {
        std::map<std::string, std::string> state;
        for (const char *field : {"generation", "lineage", "capacity", "fpr", "layout", "doubts", "bits_set",
                                  "building", "previous_generation", "hash_list", "adds_acknowledged"})
            state[field] = info(field);
        return state;
    }
    static void expect_says(const Wire::Reply &reply, const std::string &word, const std::vector<std::string> &parts) {
        EXPECT_EQ(reply.word(), word) << reply.text;
        for (const std::string &part : parts)
            EXPECT_NE(reply.text.find(part), std::string::npos) << "'" << part << "' in: " << reply.text;
    }

    // Of the filter, with this extension; none while its folder is not there yet.
    std::vector<std::filesystem::path> filter_files(const std::string &extension) {
        std::error_code missing;
        std::vector<std::filesystem::path> files;
        for (const auto &entry : std::filesystem::directory_iterator{filter_folder(), missing})
            if (entry.path().extension() == extension)
                files.push_back(entry.path());
        return files;
    }

    std::string filter_folder() { return instance.state_dir() + "/" + info("uuid"); }

    TestInstance instance;
    std::unique_ptr<Worker> worker;

  private:
    std::vector<std::string> files() {
        std::vector<std::string> names;
        if (std::filesystem::exists(filter_folder()))
            for (const auto &entry : std::filesystem::directory_iterator{filter_folder()})
                names.push_back(entry.path().filename());
        std::ranges::sort(names);
        return names;
    }
};

} // namespace shmbloom::test
