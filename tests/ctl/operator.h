// The tool as an operator has it: shmbloomd in PATH, the state folder named; shared by the tests of the operator's
// verbs.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "eventually.h"
#include "instance.h"
#include "memory_view.h"

namespace shmbloom::test {

inline bool says(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

class Operator : public ::testing::Test {
  protected:
    void SetUp() override { instance.start(); }

    std::vector<std::string> line(const std::vector<std::string> &arguments) const {
        std::vector<std::string> all{SHMBLOOMCTL_PATH, "--runtime-dir", instance.runtime_dir(), "--state-dir",
                                     instance.state_dir()};
        all.insert(all.end(), arguments.begin(), arguments.end());
        return all;
    }
    static Process::Environment with_shmbloomd() {
        return {{"PATH", std::string{SHMBLOOMD_DIR} + ":" + std::getenv("PATH")}};
    }
    Finished operate(const std::vector<std::string> &arguments, const std::string &input = "") const {
        return run(line(arguments), input, with_shmbloomd());
    }
    // Its one object; fails when there is none or the exit code is another.
    nlohmann::json object(std::vector<std::string> arguments, int code) const {
        arguments.insert(arguments.begin(), "--json");
        const Finished finished = operate(arguments);
        EXPECT_EQ(finished.code, code) << finished.log;
        return nlohmann::json::parse(finished.output, nullptr, false);
    }

    void create(const std::string &name, const std::vector<std::string> &more = {"--nothing-exists-yet"}) {
        std::vector<std::string> arguments{"create", name, "--capacity", "20k", "--fpr", "1e-3"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        instance.must_ctl(arguments);
    }
    // Live, and its bits are lost with its segment.
    void create_in_memory(const std::string &name) {
        instance.create(name, {"CAPACITY", "20000", "FPR", "1e-3", "DURABILITY", "memory", "NOTHING-EXISTS-YET"});
    }
    Finished load(const std::string &name, const std::string &script) {
        return operate({"load", name, "--exec", "--", "sh", "-c", script});
    }
    std::string doubts(const std::string &name) const {
        const auto status = object_of_status(name);
        std::string text;
        for (const auto &doubt : status.at("doubts"))
            text += (text.empty() ? "" : ",") + doubt.get<std::string>();
        return text;
    }
    bool is_recorded_as_paused() const { return says(instance.registry(), "\"paused\""); }

    TestInstance instance;

  private:
    nlohmann::json object_of_status(const std::string &name) const {
        return nlohmann::json::parse(operate({"status", name, "--json"}).output);
    }
};

} // namespace shmbloom::test
