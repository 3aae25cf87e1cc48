#include "instance.h"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

namespace shmbloom::test {

Answers parse_answers(const std::string &line) {
    std::istringstream text{line};
    std::string a, m, u;
    Answers answers;
    if (!(text >> a >> answers.absent >> m >> answers.maybe >> u >> answers.unverified))
        throw std::runtime_error{"a worker said '" + line + "'"};
    return answers;
}

Worker::Worker(const std::string &runtime_dir) : process_{{WORKER_PATH}, {{"SHMBLOOM_RUNTIME_DIR", runtime_dir}}} {}

std::string Worker::tell(const std::string &line) {
    process_.write(line + "\n");
    const auto reply = process_.read_line(300);
    if (!reply)
        throw std::runtime_error{"a worker ended at '" + line + "'"};
    return *reply;
}

void Worker::open(const std::string &name) {
    if (const std::string reply = tell("open " + name); reply != "ok")
        throw std::runtime_error{reply};
}

Answers Worker::count(const std::string &kind, std::uint64_t from, std::uint64_t count) {
    return parse_answers(tell("count " + kind + " " + std::to_string(from) + " " + std::to_string(count)));
}

Answers Worker::count_all(const std::string &kind, const std::vector<std::uint64_t> &acknowledged) {
    std::vector<std::uint64_t> sorted = acknowledged;
    std::ranges::sort(sorted);
    Answers sum;
    for (std::size_t i = 0; i < sorted.size();) {
        std::size_t end = i + 1;
        while (end < sorted.size() && sorted[end] == sorted[end - 1] + 1)
            end++;
        const Answers part = count(kind, sorted[i], end - i);
        sum = {sum.absent + part.absent, sum.maybe + part.maybe, sum.unverified + part.unverified};
        i = end;
    }
    return sum;
}

TestInstance::~TestInstance() {
    daemon_.reset();
    remove_segments();
}

Process TestInstance::launch(const std::vector<std::string> &more, const Process::Environment &environment) {
    std::vector<std::string> arguments{SHMBLOOMD_PATH, "--runtime-dir", runtime_dir(), "--state-dir", state_dir()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Process{arguments, environment};
}

void TestInstance::start(const std::vector<std::string> &more, const Process::Environment &environment) {
    daemon_ = std::make_unique<Process>(launch(more, environment));
    if (!daemon_->wait_for_log(" ready: "))
        throw std::runtime_error{"shmbloomd did not become ready: " + daemon_->log()};
    state_prefix();
}

bool TestInstance::start_and_crash(const std::string &step, const std::vector<std::string> &more) {
    daemon_ = std::make_unique<Process>(launch(more, {{"SHMBLOOM_CRASH_AT", step}}));
    const bool ready = daemon_->wait_for_log(" ready: ");
    state_prefix();
    if (ready)
        return false;
    if (const auto exit = daemon_->wait(); exit.signal != SIGKILL)
        throw std::runtime_error{"shmbloomd ended by itself: " + daemon_->log()};
    return true;
}

void TestInstance::kill() {
    state_prefix();
    daemon_->signal(SIGKILL);
    daemon_->wait();
}

void TestInstance::stop() {
    state_prefix();
    daemon_->signal(SIGTERM);
    if (const auto exit = daemon_->wait(); exit.code != 0)
        throw std::runtime_error{"shmbloomd ended with " + std::to_string(exit.code) + ": " + daemon_->log()};
}

std::string TestInstance::daemon_path() {
    return SHMBLOOMD_PATH;
}

std::string TestInstance::tool() {
    return SHMBLOOMCTL_PATH;
}

Finished TestInstance::ctl(const std::vector<std::string> &arguments, const std::string &input) {
    std::vector<std::string> all{tool(), "--runtime-dir", runtime_dir()};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return run(all, input);
}

std::string TestInstance::must_ctl(const std::vector<std::string> &arguments, const std::string &input) {
    const Finished finished = ctl(arguments, input);
    if (finished.code != 0)
        throw std::runtime_error{"shmbloomctl " + arguments[0] + " ended with " + std::to_string(finished.code) + ": " +
                                 finished.log + finished.output};
    return finished.output;
}

void TestInstance::create(const std::string &name, const std::vector<std::string> &words) {
    std::vector<std::string_view> command{"SB.CREATE", name};
    command.insert(command.end(), words.begin(), words.end());
    if (const Wire::Reply reply = wire().call(command); reply.is_error())
        throw std::runtime_error{"'" + name + "' was not created: " + reply.text};
}

std::string TestInstance::registry() const {
    const std::string path = state_dir() + "/registry.json";
    if (!std::filesystem::is_regular_file(path))
        return "";
    std::ifstream file{path};
    return {std::istreambuf_iterator<char>{file}, {}};
}

std::string TestInstance::state_prefix() const {
    const std::string text = registry();
    const auto key = text.find("\"state_uuid\"");
    if (key == std::string::npos)
        return "";
    std::string uuid = text.substr(std::min(text.size(), text.find('"', key + 12) + 1), 36);
    std::erase(uuid, '-');
    const std::string prefix = "shmbloom." + uuid.substr(0, 16) + ".";
    if (std::ranges::find(prefixes_, prefix) == prefixes_.end())
        prefixes_.push_back(prefix);
    return prefix;
}

std::vector<std::string> TestInstance::segment_names() const {
    state_prefix();
    std::vector<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator{"/dev/shm"}) {
        const std::string name = entry.path().filename();
        if (std::ranges::any_of(prefixes_, [&](const std::string &prefix) { return name.starts_with(prefix); }))
            names.push_back(name);
    }
    std::ranges::sort(names);
    return names;
}

namespace {

// Filter names and the names of their segments.
std::map<std::string, std::string> recorded_segments(const std::string &registry, const std::string &prefix) {
    std::map<std::string, std::string> segments;
    const auto file = nlohmann::json::parse(registry);
    for (const auto &filter : file.at("registry").at("filters"))
        if (filter.at("segment").at("inode").get<std::uint64_t>() != 0)
            segments[filter.at("name")] = prefix + filter.at("uuid").get<std::string>() + "." +
                                          std::to_string(filter.at("generation").get<std::uint64_t>());
    return segments;
}

} // namespace

std::vector<std::string> TestInstance::recorded_segment_names() const {
    std::vector<std::string> names;
    for (const auto &[name, segment] : recorded_segments(registry(), state_prefix()))
        names.push_back(segment);
    std::ranges::sort(names);
    return names;
}

std::string TestInstance::segment_of(const std::string &name) const {
    const auto segments = recorded_segments(registry(), state_prefix());
    const auto found = segments.find(name);
    return found == segments.end() ? "" : found->second;
}

std::vector<std::string> TestInstance::recorded_files_of(const std::string &name) const {
    std::vector<std::string> files;
    const auto take = [&](const nlohmann::json &of) {
        for (const auto &snapshot : of.at("snapshots"))
            files.push_back(std::to_string(snapshot.at("number").get<std::uint64_t>()) + ".snapshot");
        for (const auto &list : of.at("hash_list").at("files"))
            files.push_back(std::to_string(list.at("number").get<std::uint64_t>()) + ".hashes");
    };
    const auto file = nlohmann::json::parse(registry());
    for (const auto &filter : file.at("registry").at("filters"))
        if (filter.at("name") == name) {
            take(filter);
            if (!filter.at("previous").is_null())
                take(filter.at("previous"));
        }
    std::ranges::sort(files);
    files.erase(std::unique(files.begin(), files.end()), files.end());
    return files;
}

std::map<std::string, std::string> TestInstance::info(const std::string &name) {
    return wire().call({"SB.INFO", name}).fields();
}

void TestInstance::remove_segments() const {
    for (const std::string &name : segment_names())
        std::filesystem::remove("/dev/shm/" + name);
}

std::vector<std::uint64_t> read_indexes(const std::string &path) {
    std::ifstream file{path, std::ios::binary};
    std::vector<std::uint64_t> indexes;
    for (std::uint64_t index = 0; file.read(reinterpret_cast<char *>(&index), sizeof index);)
        indexes.push_back(index);
    return indexes;
}

} // namespace shmbloom::test
