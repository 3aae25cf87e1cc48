// Run by sys_test: what is decided once a process, or ends it.
//   sys_test_child replace FOLDER    replaces the file 'file' in FOLDER by one that says "new"
//   sys_test_child log               a line of each level
#include <string_view>

#include "sys/files.h"
#include "sys/log.h"

using namespace shmbloom;

int main(int argc, char **argv) {
    const std::string_view verb = argc > 1 ? argv[1] : "";
    if (verb == "replace" && argc == 3) {
        replace_file(open_folder(argv[2]).get(), "file", "new", 0600, argv[2]);
        return 0;
    }
    if (verb == "log") {
        log::set_level(log::Level::debug);
        log::critical("c");
        log::error("e");
        log::warning("w");
        log::info("i");
        log::debug("d");
        return 0;
    }
    return 2;
}
