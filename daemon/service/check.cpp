#include "service/check.h"

#include <iostream>

#include "disk/state_folder.h"
#include "service/filter.h"
#include "store/doubt.h"
#include "sys/os_error.h"

namespace shmbloom {
namespace {

// Whether a start would find this filter's segment, and its doubts. Mapping is all that it takes.
bool check_filter(const Registry &registry, const FilterRecord &record, bool same_boot) {
    Filter filter;
    filter.record = record;
    std::string reason = "the machine was restarted since";
    std::unique_ptr<Segment> segment;
    if (same_boot)
        segment = Segment::adopt(filter.identity(registry, record.generation), record.segment, reason);
    std::string doubts = join_names(kDoubtNames, record.doubt_bits());
    std::cout << "filter '" << record.name << "': generation " << record.generation << ", "
              << (segment ? "its segment is there" : "its segment is lost (" + reason + "), so it comes up lossy")
              << ", " << (doubts.empty() ? "no doubt" : "doubts " + doubts) << '\n';
    return segment && doubts.empty();
}

} // namespace

int check_state(const Options &options) {
    const std::string path = options.state_dir + "/registry.json";
    const auto text = read_file(path);
    if (!text)
        throw Refusal{"there is no registry at '" + path + "'; name the state folder with --state-dir"};
    const Registry registry = decode_registry(*text, path);
    const auto folder = file_id_at(options.state_dir);
    const bool same_boot = registry.boot == boot_id();
    bool good = true;
    std::cout << "registry '" << path << "' is whole, " << registry.filters.size() << " filters, "
              << (registry.clean_stop ? "stopped cleanly" : "in use or not stopped cleanly") << '\n';
    if (!folder || folder->inode != registry.folder.inode) {
        std::cout << "this folder is a copy: a start needs --take-over, and every filter comes up lossy\n";
        good = false;
    }
    for (const FilterRecord &record : registry.filters)
        good = check_filter(registry, record, same_boot) && good;
    for (const auto &[name, refused] : registry.adds_refused) {
        std::cout << "adds to '" << name << "' are refused: " << refused.text << '\n';
        good = false;
    }
    return good ? 0 : 1;
}

} // namespace shmbloom
