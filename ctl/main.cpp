// shmbloomctl: one verb a run; each has its file.
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "options.h"
#include "output.h"
#include "verbs.h"

int main(int argc, char **argv) {
    using namespace shmbloom::ctl;
    try {
        ::unsetenv("SHMBLOOM_MODE"); // an operator wants to see what is, in a shell for shadow mode too
        auto parsed = parse_command({argv + (argc > 0 ? 1 : 0), argv + argc});
        if (const Failure *failure = failure_of(parsed))
            return fail(*failure);
        const Command command = take(std::move(parsed));
        if (command.json)
            use_json();
        const int code = std::visit([&](const auto &options) { return run(command.where, options); }, command.verb);
        if (!flush_output())
            return fail({Exit::no_space, "not all output could be written"});
        return code;
    } catch (const std::exception &error) { // out of memory, or the system refused what it never refuses
        return fail({Exit::no_space, error.what()});
    }
}
