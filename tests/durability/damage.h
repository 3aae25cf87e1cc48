// A tree on the disk that tests change, and starts from it.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "disk/journal_format.h"
#include "disk/snapshot.h"
#include "machine.h"

namespace shmbloom::test {

namespace fs = std::filesystem;
namespace format = journal_format;

inline constexpr auto kDurable = SHMBLOOM_DURABILITY_DURABLE;

inline std::string slurp(const std::string &path) {
    return read_file(path).value();
}

inline void put(const std::string &path, const std::string &content) {
    std::ofstream{path, std::ios::binary | std::ios::trunc} << content;
}

struct FrameAt {
    std::size_t offset, bytes;
    format::FrameHeader header;
    std::size_t end() const { return offset + bytes; }
    Lsn end_lsn() const { return header.first_lsn + header.count; }
};

inline std::vector<FrameAt> frames_of(const std::string &file) {
    std::vector<FrameAt> frames;
    for (std::size_t at = format::kHeaderBytes; at + sizeof(format::FrameHeader) <= file.size();) {
        FrameAt frame{at, 0, {}};
        std::memcpy(&frame.header, &file[at], sizeof frame.header);
        if (frame.header.magic != format::kFrameMagic)
            break;
        frame.bytes = sizeof frame.header + 8 * std::size_t{frame.header.count};
        at = frame.end();
        frames.push_back(frame);
    }
    return frames;
}

// A tree on the disk from which starts are made, again and again, each of another boot.
class Damage : public testing::Test {
  protected:
    void run(std::uint64_t file_bytes = 64 << 10) {
        machine.file_bytes = file_bytes;
        machine.start();
        create("links");
    }
    void create(const std::string &name, std::uint32_t durability = kDurable) {
        ASSERT_FALSE(machine.wait(machine.create(name, durability)).failure);
    }
    void add(const std::string &name, std::size_t count) {
        ASSERT_FALSE(machine.wait(machine.add(name, machine.fresh(count))).failure);
    }
    void snapshot(const std::string &name) { ASSERT_FALSE(machine.wait(machine.snapshot(name)).failure); }
    void idle() { // until the newest frame says that all before it is durable
        EXPECT_TRUE(machine.beat_until([&] {
            const auto frames = frames_of(slurp(newest_file()));
            return !frames.empty() && frames.back().header.durable_lsn == machine.instance().journal().next();
        }));
    }
    void keep() {
        machine.reboot();
        origin = machine.state_path() + ".origin";
        fs::copy(machine.state_path(), origin, fs::copy_options::recursive);
    }
    ~Damage() override {
        if (!origin.empty())
            fs::remove_all(origin);
    }
    std::string newest_file() const {
        std::uint64_t newest = 0;
        for (const auto &entry : fs::directory_iterator{machine.journal_path()})
            if (const auto number = std::stoull(entry.path().filename().string());
                number > newest && !frames_of(slurp(entry.path())).empty())
                newest = number;
        return machine.journal_path() + "/" + std::to_string(newest);
    }

    // From the kept tree, changed; nullopt: the start was refused, which says why.
    bool start_changed(const std::function<void()> &change) {
        machine.reboot();
        for (const auto &entry : fs::directory_iterator{machine.state_path()})
            fs::remove_all(entry.path());
        for (const auto &entry : fs::directory_iterator{origin})
            fs::copy(entry.path(), fs::path{machine.state_path()} / entry.path().filename(),
                     fs::copy_options::recursive);
        change();
        machine.disk().come_back(machine.state_path(), copy_of_state());
        refused.clear();
        try {
            machine.start();
        } catch (const std::exception &error) {
            refused = error.what();
            return false;
        }
        return true;
    }
    std::string copy_of_state() {
        const std::string copy = machine.state_path() + ".copy";
        fs::remove_all(copy);
        fs::copy(machine.state_path(), copy, fs::copy_options::recursive);
        return copy;
    }
    void expect_damaged(const std::string &named_in_text, const std::string &name = "links") {
        ASSERT_TRUE(refused.empty()) << refused;
        EXPECT_EQ(machine.doubts(name), SHMBLOOM_DOUBT_DAMAGED);
        EXPECT_NE(machine.doubt_text(name).find(named_in_text), std::string::npos)
            << named_in_text << " is not in: " << machine.doubt_text(name);
    }
    void expect_whole() {
        ASSERT_TRUE(refused.empty()) << refused;
        EXPECT_EQ(lines(machine.broken(machine.promises())), "");
    }
    std::string file(std::uint64_t number) const { return machine.journal_path() + "/" + std::to_string(number); }
    static void flip(const std::string &path, std::size_t at) {
        std::string content = slurp(path);
        content.at(at) = static_cast<char>(content.at(at) ^ 0x41);
        put(path, content);
    }

    Machine machine;
    std::string origin, refused;
};

} // namespace shmbloom::test
