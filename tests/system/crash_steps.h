// The steps at which a daemon is killed; tests/system/crash_points_test.cpp sees to it that none of the source is missing.
#pragma once

#include <cctype>
#include <string>
#include <vector>

namespace shmbloom::test {

struct Step {
    const char *name;
    int time = 1; // crash at the n-th time

    std::string text() const { return std::string{name} + ":" + std::to_string(time); }
};

// A start without losses writes the registry twice; what comes after it is counted on from there. (The first file of a
// journal is one more: CrashAt::restart_to_crash_at.)
constexpr int kFirst = 3, kSecond = 4;

inline const std::vector<Step> kCreateSteps{
    {"create.making"},         {"create.made"},           {"create.durable"},           {"create.slot"},
    {"create.segment_gate"},   {"create.control_gate"},   {"registry.before", kFirst},  {"file.written", kFirst},
    {"file.renamed", kFirst},  {"registry.durable", kFirst}, {"registry.before", kSecond}, {"file.written", kSecond},
    {"file.renamed", kSecond}, {"registry.durable", kSecond}};
inline const std::vector<Step> kDropSteps{{"drop.gates"},          {"drop.durable"},         {"drop.unlinked"},
                                   {"registry.before", kFirst}, {"file.written", kFirst}, {"file.renamed", kFirst},
                                   {"registry.durable", kFirst}};
inline const std::vector<Step> kLoadSteps{{"load.durable"},         {"load.segment_gate"},    {"load.control_gate"},
                                   {"registry.before", kFirst}, {"file.written", kFirst}, {"file.renamed", kFirst},
                                   {"registry.durable", kFirst}};
inline const std::vector<Step> kControlSteps{
    {"control.lost_durable"},  {"control.built"},         {"control.published"},        {"registry.before", kFirst},
    {"file.written", kFirst},  {"file.renamed", kFirst},  {"registry.durable", kFirst}, {"registry.before", kSecond},
    {"file.written", kSecond}, {"file.renamed", kSecond}, {"registry.durable", kSecond}};

inline const std::vector<Step> kPauseSteps{{"pause.gates"},          {"registry.before", kFirst},  {"file.written", kFirst},
                                    {"file.renamed", kFirst}, {"registry.durable", kFirst}};

// What happened between the last daemon's end and the start that is killed.
enum class Before { clean_stop, kill, segment_gone, control_gone, both_gone };
struct StartStep {
    Step step;
    bool lost_segment = false; // reached only by a start that replaces a segment
    bool lost_control = false; // ... that makes a control
};
inline const std::vector<StartStep> kStartSteps{{{"start.noted"}},
                                         {{"start.segment_made"}, true},
                                         {{"start.replayed"}},
                                         {{"start.durable"}},
                                         {{"start.gate_open", 1}},
                                         {{"start.gate_open", 2}},
                                         {{"start.gate_open", 3}},
                                         {{"start.open"}},
                                         {{"control.built"}, false, true},
                                         {{"control.published"}, false, true},
                                         {{"registry.before", 1}},
                                         {{"registry.before", 2}},
                                         {{"registry.before", 3}, true},
                                         {{"file.written", 1}},
                                         {{"file.written", 2}},
                                         {{"file.written", 3}, true},
                                         {{"file.renamed", 1}},
                                         {{"file.renamed", 2}},
                                         {{"file.renamed", 3}, true},
                                         {{"registry.durable", 1}},
                                         {{"registry.durable", 2}},
                                         {{"registry.durable", 3}, true}};

// Of the journal and the snapshots, each while adds go on. The first ones of a start are of a file that nothing was
// written to yet; the later ones are somewhere in the middle.
inline const std::vector<Step> kJournalSteps{
    {"journal.file_made"},    {"journal.file_named"},   {"journal.written"},  {"journal.written", 40},
    {"journal.synced"},       {"journal.synced", 3},   {"snapshot.copied"},  {"snapshot.synced"},
    {"snapshot.renamed"},     {"snapshot.named"},       {"snapshot.named", 3}, {"journal.file_removed"},
    {"stop.clean"}};

// Of a new generation and the switch to it, whatever it is made for.
inline const std::vector<Step> kSwitchSteps{{"build.making"},  {"build.made"},    {"build.filled"},
                                            {"switch.durable"}, {"switch.slot"},   {"switch.opened"},
                                            {"switch.old_ended"}, {"switch.unlinked"}};
inline const std::vector<Step> kHashListSteps{
    {"hash_list.synced"}, {"hash_list.taken"}, {"hash_list.named"}, {"hash_list.compacted"}};
inline const std::vector<Step> kFolderSteps{{"journal.folder_made"}};
inline const std::vector<Step> kImportSteps{{"import.noted"}, {"import.merged"}};

inline std::string test_name(std::string text) {
    for (char &c : text)
        if (!std::isalnum(static_cast<unsigned char>(c)))
            c = '_';
    return text;
}

} // namespace shmbloom::test
