// resume, forget-readers: what the daemon must agree to; when it is dead, shmbloomd --once does it.
#include <string>

#include "daemon_call.h"
#include "filter.h"
#include "hints.h"
#include "json.h"
#include "output.h"
#include "status.h"
#include "verbs.h"

namespace shmbloom::ctl {

namespace {

int tell_all(const Where &where, const std::string &name, const char *command, const char *once,
             const std::string &done) {
    const std::string what = name.empty() ? "*" : name;
    const Told told = tell(find_place(where), {command, what}, {once, what});
    if (!told.failure)
        print(done + " " + (name.empty() ? "every filter" : name) + "\n");
    if (!told.failure && told.by == Told::By::once)
        note("done by shmbloomd --once, since the daemon is not running");
    Json fields{{"name", name.empty() ? Json{} : Json(name)},
                {"done_by", told.failure ? Json{} : Json(told.by == Told::By::once ? "once" : "daemon")}};
    return conclude(fields, told.failure);
}

// A filter that is resumed may have other doubts.
void show_rest(const Where &where, const std::string &name) {
    auto opened = open_filter(where, name);
    if (failure_of(opened) != nullptr)
        return;
    FilterStatus status;
    status.info = get_info(std::get<Filter>(opened).get());
    if (status.is_live())
        return print(name + " is live\n");
    for (const std::string &word : status.doubts()) {
        const Hint hint = hint_for(where, name, word);
        print("still " + word + ": " + hint.meaning + "\n  ended by: " + hint.ended_by + "\n");
    }
}

} // namespace

int run(const Where &where, const ResumeOptions &options) {
    const int code = tell_all(where, options.name, "SB.RESUME", "resume", "resumed");
    if (code == 0 && !options.name.empty() && !is_json())
        show_rest(where, options.name);
    return code;
}

int run(const Where &where, const ForgetReadersOptions &options) {
    return tell_all(where, options.name, "SB.FORGETREADERS", "forget-readers", "adds are taken again by");
}

} // namespace shmbloom::ctl
