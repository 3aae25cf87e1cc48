// An instance in this process: its loop is the test's thread, its helper threads are its own. For tsan above all, and
// for what only a disk that fails on demand shows.
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "service/instance.h"
#include "sys/log.h"
#include "temp_folder.h"
#include "test_loop.h"

namespace shmbloom {
namespace {

class InstanceThreads : public testing::Test {
  protected:
    InstanceThreads() { log::set_level(log::Level::critical); }
    ~InstanceThreads() override {
        for (const auto &[name, filter] : instance.filters())
            if (filter->segment)
                ::shm_unlink(filter->segment->name().c_str());
        log::set_level(log::Level::info);
    }

    static Options options_for(const test::TempFolder &temp) {
        Options options;
        options.runtime_dir = temp / "run";
        options.state_dir = temp / "state";
        options.shm_reserve_bytes = 0;
        make_folder(options.runtime_dir, 0750);
        return options;
    }

    struct Outcome {
        bool done = false;
        std::optional<Failure> failure;
    };

    Instance::Done into(Outcome &outcome) {
        return [&outcome](std::optional<Failure> failure) {
            EXPECT_FALSE(outcome.done) << "told twice";
            outcome = {true, std::move(failure)};
        };
    }

    void create(const std::string &name, Outcome &outcome, std::uint64_t capacity = 1000,
                std::uint32_t durability = SHMBLOOM_DURABILITY_DURABLE) {
        CreateRequest request;
        request.name = name;
        request.capacity = capacity;
        request.fpr = 0.01;
        request.durability = durability;
        instance.create(request, into(outcome));
    }

    std::optional<Failure> create_and_wait(const std::string &name, std::uint64_t capacity = 1000,
                                           std::uint32_t durability = SHMBLOOM_DURABILITY_DURABLE) {
        Outcome outcome;
        create(name, outcome, capacity, durability);
        loop.run_until([&] { return outcome.done; });
        return outcome.failure;
    }

    std::optional<Failure> add(const std::string &name, std::span<const std::uint64_t> hashes, std::uint8_t *answers) {
        Filter *const filter = instance.find(name);
        Outcome outcome;
        instance.add(1, name, filter->identity(instance.registry(), filter->record.generation).hash_domain(), hashes,
                     [&](const std::optional<Failure> &failure, const std::string &given) {
                         outcome = {true, failure};
                         std::ranges::copy(given, answers);
                     });
        loop.run_until([&] { return outcome.done; });
        return outcome.failure;
    }

    // Not while the first filter's journal file is made and named.
    void break_disk() {
        loop.run_until([&] {
            return instance.filters().empty() || !state.read_registry().value().journal.files.empty();
        });
        std::filesystem::create_directory(options.state_dir + "/registry.json.new");
    }
    void mend_disk() { std::filesystem::remove(options.state_dir + "/registry.json.new"); }

    const test::TempFolder temp;
    const Options options = options_for(temp);
    const StateFolder state{options.state_dir, "test"};
    const Uuid boot = boot_id();
    TestLoop loop;
    Instance instance{options, state, boot, start_instance(options, state, boot), loop.post()};
};

TEST_F(InstanceThreads, CreateAddAndDropWhileOthersAreBeingMade) {
    std::vector<Outcome> created(16), dropped(16);
    for (std::size_t i = 0; i < created.size(); i++)
        create("filter" + std::to_string(i), created[i], 20'000 + i);
    std::vector<std::uint64_t> hashes(1000);
    for (std::size_t i = 0; i < hashes.size(); i++)
        hashes[i] = (i + 1) * 0x9E3779B97F4A7C15ull;
    std::vector<std::uint8_t> answers(hashes.size());
    for (std::size_t i = 0; i < created.size(); i++) {
        loop.run_until([&] { return created[i].done; });
        ASSERT_FALSE(created[i].failure) << created[i].failure->text;
        ASSERT_FALSE(add("filter" + std::to_string(i), hashes, answers.data()));
        instance.beat();
        if (i % 2 == 1)
            instance.drop("filter" + std::to_string(i), into(dropped[i]));
    }
    loop.run_until([&] {
        bool all = true;
        for (std::size_t i = 1; i < dropped.size(); i += 2)
            all = all && dropped[i].done;
        return all;
    });
    Outcome stopped;
    instance.stop([&](const std::string &error) {
        EXPECT_EQ(error, "");
        stopped.done = true;
    });
    loop.run_until([&] { return stopped.done; });
    const auto registry = state.read_registry().value();
    EXPECT_TRUE(registry.clean_stop);
    ASSERT_EQ(registry.filters.size(), 8u);
    EXPECT_EQ(registry.filters[0].name, "filter0");
    EXPECT_EQ(registry.filters[0].adds_acknowledged, 1000u);
    for (const FilterRecord &filter : registry.filters)
        EXPECT_EQ(shared_memory_id(segment_name(registry.state_uuid, filter.uuid, filter.generation)), filter.segment);
}

TEST_F(InstanceThreads, LoadEndsWarmingOnlyWhenThatIsOnTheDisk) {
    ASSERT_FALSE(create_and_wait("links"));
    Filter *const filter = instance.find("links");
    const auto doubts = [&] { return filter->gates(instance.control()).doubts(); };
    EXPECT_EQ(doubts(), SHMBLOOM_DOUBT_WARMING);
    ASSERT_FALSE(instance.begin_load(1, "links", 0));
    const std::uint64_t hash = 42;
    std::uint8_t answer;
    ASSERT_FALSE(add("links", {&hash, 1}, &answer));
    EXPECT_EQ(answer, 2);
    bool ended = false;
    instance.end_load(1, "links", 1, [&](const std::optional<Failure> &failure, const LoadResult &result) {
        EXPECT_FALSE(failure);
        EXPECT_EQ(result.keys, 1u);
        ended = true;
    });
    loop.wait(); // written, but the loop does not know
    EXPECT_EQ(doubts(), SHMBLOOM_DOUBT_WARMING);
    loop.run_until([&] { return ended; });
    EXPECT_EQ(doubts(), 0u);
    ASSERT_FALSE(add("links", {&hash, 1}, &answer));
    EXPECT_EQ(answer, 1);
}

// Its sender may commit it to the source after the source was read.
TEST_F(InstanceThreads, AnAddThatWaitsToBeAcknowledgedIsInTheRebuildThatBeginsMeanwhile) {
    for (const std::uint32_t durability : {SHMBLOOM_DURABILITY_DURABLE, SHMBLOOM_DURABILITY_LOGGED}) {
        const std::string name = durability == SHMBLOOM_DURABILITY_DURABLE ? "durable" : "logged";
        ASSERT_FALSE(create_and_wait(name, 1000, durability));
        Filter *const filter = instance.find(name);
        const std::uint64_t domain = instance.hash_domain(*filter), waiting = 42, in_source = 4711;
        Outcome added, begun, ended;
        instance.add(1, name, domain, {&waiting, 1},
                     [&](const std::optional<Failure> &failure, const std::string &) { added = {true, failure}; });
        ASSERT_FALSE(added.done);
        RebuildRequest request;
        request.name = name;
        request.overlap_s = 0;
        instance.begin_rebuild(2, "test", request, into(begun));
        loop.run_until([&] { return added.done && begun.done; });
        ASSERT_FALSE(added.failure || begun.failure);
        bool fed = false;
        instance.bulk(2, name, domain, {in_source}, [&](const auto &failure, const auto &) {
            EXPECT_FALSE(failure);
            fed = true;
        });
        loop.run_until([&] { return fed; });
        instance.end_rebuild(2, name, {.expected = 1, .shrink_percent = 100, .dry_run = false},
                             [&](const std::optional<Failure> &failure, const SwitchResult &result) {
                                 EXPECT_TRUE(result.switched);
                                 ended = {true, failure};
                             });
        loop.run_until([&] { return ended.done; });
        ASSERT_FALSE(ended.failure) << ended.failure->text;
        EXPECT_TRUE(filter->segment->contains(in_source));
        EXPECT_TRUE(filter->segment->contains(waiting));
    }
}

// What a logged filter acknowledged and nobody synced went with the folder: a rebuild cannot bring it along.
TEST_F(InstanceThreads, ARebuildKnowsWhatWentWithTheJournalsFolder) {
    ASSERT_FALSE(create_and_wait("links", 1000, SHMBLOOM_DURABILITY_LOGGED));
    const std::uint64_t hash = 42;
    std::uint8_t answer;
    ASSERT_FALSE(add("links", {&hash, 1}, &answer));
    std::filesystem::rename(options.state_dir + "/journal", options.state_dir + "/away");
    instance.beat();
    Outcome begun;
    RebuildRequest request;
    request.name = "links";
    instance.begin_rebuild(2, "test", request, into(begun));
    loop.run_until([&] { return begun.done; });
    ASSERT_TRUE(begun.failure);
    EXPECT_NE(begun.failure->text.find("does not reach back"), std::string::npos) << begun.failure->text;
}

// Another filter of its name would not have it.
TEST_F(InstanceThreads, AnAddWhoseFilterIsDroppedIsNotAcknowledged) {
    ASSERT_FALSE(create_and_wait("links"));
    const std::uint64_t domain = instance.hash_domain(*instance.find("links")), hash = 42;
    for (int tried = 0; tried < 20; tried++) { // which of the two is done first is the disk's to say
        Outcome added, dropped;
        instance.add(1, "links", domain, {&hash, 1}, [&](const std::optional<Failure> &failure, const std::string &) {
            added = {true, failure};
            if (failure)
                EXPECT_STREQ(failure->word, "NOTFOUND");
            else
                EXPECT_NE(instance.find("links"), nullptr);
        });
        instance.drop("links", into(dropped));
        loop.run_until([&] { return added.done && dropped.done; });
        ASSERT_FALSE(dropped.failure);
        ASSERT_FALSE(create_and_wait("links"));
    }
}

TEST_F(InstanceThreads, CreateThatCannotBeWrittenLeavesNothing) {
    break_disk();
    const auto failure = create_and_wait("links");
    ASSERT_TRUE(failure);
    EXPECT_STREQ(failure->word, "IO");
    EXPECT_NE(failure->text.find("was not created"), std::string::npos) << failure->text;
    EXPECT_EQ(instance.find("links"), nullptr);
    mend_disk();
    instance.beat();
    EXPECT_FALSE(create_and_wait("links"));
    EXPECT_EQ(state.read_registry().value().filters.size(), 1u);
}

TEST_F(InstanceThreads, DropThatCannotBeWrittenAnswersUnverifiedAtOnceAndKeepsItsSegment) {
    ASSERT_FALSE(create_and_wait("links"));
    const std::string segment = instance.find("links")->segment->name();
    const FileId id = instance.find("links")->segment->id();
    const std::uint64_t *const gate = &instance.control().slot(instance.find("links")->slot)->gate;
    break_disk();
    Outcome outcome;
    instance.drop("links", into(outcome));
    EXPECT_EQ(shmbloom_load_gate(gate), 0u);
    loop.run_until([&] { return outcome.done; });
    ASSERT_TRUE(outcome.failure);
    EXPECT_STREQ(outcome.failure->word, "IO");
    EXPECT_EQ(shared_memory_id(segment), id); // the registry on the disk still names it
    EXPECT_STREQ(create_and_wait("links")->word, "BUSY");
    mend_disk();
    instance.beat();
    loop.run_until([&] { return !shared_memory_id(segment); });
    EXPECT_FALSE(create_and_wait("links"));
}

TEST_F(InstanceThreads, EndOfALoadThatCannotBeWrittenKeepsTheDoubtUntilItCan) {
    ASSERT_FALSE(create_and_wait("links"));
    Filter *const filter = instance.find("links");
    ASSERT_FALSE(instance.begin_load(1, "links", 0));
    const std::uint64_t hash = 42;
    std::uint8_t answer;
    ASSERT_FALSE(add("links", {&hash, 1}, &answer));
    break_disk();
    std::optional<Failure> failure;
    instance.end_load(1, "links", std::nullopt,
                      [&](std::optional<Failure> f, const LoadResult &) { failure = std::move(f); });
    loop.run_until([&] { return failure.has_value(); });
    EXPECT_STREQ(failure->word, "IO");
    EXPECT_EQ(filter->gates(instance.control()).doubts(), SHMBLOOM_DOUBT_WARMING);
    instance.beat();
    EXPECT_NE(filter->warnings & SHMBLOOM_WARNING_DEGRADED, 0u);
    loop.run_one();                                  // the beat's own try, which fails too
    ASSERT_FALSE(add("links", {&hash, 1}, &answer)); // adds go on meanwhile
    EXPECT_EQ(answer, 2);
    mend_disk();
    instance.beat();
    loop.run_until([&] { return filter->gates(instance.control()).doubts() == 0; });
    instance.beat();
    EXPECT_EQ(filter->warnings & SHMBLOOM_WARNING_DEGRADED, 0u);
}

TEST_F(InstanceThreads, StopThatCannotBeWrittenSaysSo) {
    break_disk();
    std::string told;
    instance.stop([&](const std::string &error) { told = error; });
    loop.run_until([&] { return !told.empty(); });
    EXPECT_NE(told.find("registry.json"), std::string::npos);
}

TEST_F(InstanceThreads, WhatDoesNotFitIsRefusedWithoutATrace) {
    const std::string before = encode_registry(state.read_registry().value());
    const auto failure = create_and_wait("links", std::uint64_t{1} << 40); // more than a TiB
    ASSERT_TRUE(failure);
    EXPECT_STREQ(failure->word, "NOMEM");
    for (const char *part : {"needs ", " has ", "reserve"})
        EXPECT_NE(failure->text.find(part), std::string::npos) << failure->text;
    EXPECT_EQ(encode_registry(state.read_registry().value()), before);
    EXPECT_TRUE(instance.filters().empty());
}

TEST_F(InstanceThreads, ControlThatGoesIsMadeAnewWithEveryFilter) {
    ASSERT_FALSE(create_and_wait("links"));
    const Uuid before = instance.control().uuid();
    std::filesystem::remove(options.runtime_dir + "/control");
    instance.beat();
    loop.run_until([&] { return instance.control().uuid() != before; });
    EXPECT_TRUE(instance.control().is_in_place());
    shmbloom_slot copy;
    EXPECT_NE(shmbloom_read_slot(instance.control().slot(instance.find("links")->slot), &copy), 0u);
    EXPECT_STREQ(copy.name, "links");
    loop.run_until([&] { return state.read_registry().value().control.uuid == instance.control().uuid(); });
    EXPECT_TRUE(state.read_registry().value().control_lost);
}

} // namespace
} // namespace shmbloom
