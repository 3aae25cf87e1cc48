// self-test: can this very user use the daemon, and if not, which group or folder is wrong?
#include <cerrno>
#include <grp.h>
#include <pwd.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "child.h"
#include "client.h"
#include "filter.h"
#include "json.h"
#include "output.h"
#include "text.h"
#include "verbs.h"

namespace shmbloom::ctl {

namespace {

constexpr std::chrono::seconds kTimeout{60};
constexpr const char *kKey = "self-test";

std::string user_text() {
    const passwd *user = ::getpwuid(::geteuid());
    return user == nullptr ? "user " + std::to_string(::geteuid()) : std::string{"user '"} + user->pw_name + "'";
}

std::string group_text(gid_t gid) {
    const ::group *entry = ::getgrgid(gid);
    return entry == nullptr ? std::to_string(gid) : std::string{"'"} + entry->gr_name + "'";
}

// Whom a path belongs to, when it may not be used.
std::string owner_text(const std::string &path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0)
        return "";
    return "; " + user_text() + " is not in its group " + group_text(status.st_gid);
}

class SelfTest {
  public:
    explicit SelfTest(const Where &where) : where_{where} {}

    void run() {
        auto listed = list_filters(where_);
        if (const Failure *failure = failure_of(listed))
            return failed("folder", *failure);
        place_ = std::get<Listing>(std::move(listed));
        passed("folder", place_.runtime_dir + " as " + user_text());
        passed("control", std::to_string(place_.names.size()) + " filters");
        for (const std::string &name : place_.names)
            read_filter(name);
        if (use_socket())
            use_filter();
    }

    Outcome first_failure() const { return first_failure_; }
    Json fields() const { return {{"runtime_dir", json_word(place_.runtime_dir.c_str())}, {"checks", checks_}}; }

  private:
    void passed(const std::string &what, const std::string &text) { show(what, "ok", text); }
    void skipped(const std::string &what, const std::string &text) { show(what, "skipped", text); }
    void failed(const std::string &what, const Failure &failure) {
        show(what, "failed", failure.text);
        if (!first_failure_)
            first_failure_ = Failure{failure.code, what + ": " + failure.text, failure.word};
    }
    void show(const std::string &what, const char *result, const std::string &text) {
        checks_.push_back({{"check", what}, {"result", result}, {"text", text}});
        std::string begin = result;
        begin.resize(9, ' ');
        print(begin + wrap(what + ": " + text, 9) + "\n");
    }

    // Whether its control slot and segment can be read; that it is in doubt is no fault of this user's.
    void read_filter(const std::string &name) {
        const std::string what = "filter " + name;
        auto opened = open_filter(where_, name);
        if (const Failure *failure = failure_of(opened))
            return failed(what, *failure);
        const shmbloom_info info = get_info(std::get<Filter>(opened).get());
        if (info.handle_doubts != 0)
            return failed(what,
                          {info.handle_doubts & SHMBLOOM_HANDLE_NO_PERMISSION ? Exit::no_permission : Exit::unverified,
                           info.handle_doubts_text});
        passed(what, info.live != 0 ? "live" : "read; it is " + std::string{info.doubts_text});
    }

    bool use_socket() {
        auto client = Client::connect_to(place_.runtime_dir, std::chrono::seconds{2});
        if (const Failure *failure = failure_of(client)) {
            const std::string path = place_.runtime_dir + "/socket";
            if (failure->code == Exit::no_permission)
                failed("socket", {Exit::no_permission, "'" + path + "' may not be used" + owner_text(path)});
            else
                failed("socket", *failure);
            return false;
        }
        passed("socket", "the daemon answers");
        return true;
    }

    // All of the way: a filter of our own, an add, a look-up by another process.
    void use_filter() {
        auto client = Client::connect(where_);
        if (const Failure *failure = failure_of(client))
            return failed("create", *failure);
        const std::string name = "shmbloom-self-test-" + std::to_string(::getpid());
        Client &daemon = std::get<Client>(client);
        auto made = daemon.call({"SB.CREATE", name, "CAPACITY", "1000", "FPR", "0.01", "NOTHING-EXISTS-YET"}, kTimeout);
        if (const Failure *failure = failure_of(made)) {
            if (failure->code == Exit::no_permission)
                return skipped("create", "only root, the daemon's user and its --admin-group may");
            return failed("create", *failure);
        }
        passed("create", name);
        add_and_look_up(name);
        auto dropped = daemon.call({"SB.DROP", name}, kTimeout);
        if (const Failure *failure = failure_of(dropped))
            return failed("drop", *failure);
        passed("drop", name);
    }

    void add_and_look_up(const std::string &name) {
        auto opened = open_filter(where_, name);
        if (const Failure *failure = failure_of(opened))
            return failed("open", *failure);
        const int r = shmbloom_add(std::get<Filter>(opened).get(), kKey, std::char_traits<char>::length(kKey));
        if (r < 0)
            return failed("add", {exit_of(r), shmbloom_strerror(r)});
        passed("add", "acknowledged");
        if (auto failure = look_up_elsewhere(name))
            return failed("look-up", *failure);
        passed("look-up", "a second process finds the key, and no other");
    }

    Outcome look_up_elsewhere(const std::string &name) const {
        auto child =
            Child::spawn({"/proc/self/exe", "--runtime-dir", place_.runtime_dir, "contains", name, kKey, "other"});
        if (const Failure *failure = failure_of(child))
            return *failure;
        std::string text;
        char buffer[512];
        for (ssize_t n;
             (n = ::read(std::get<Child>(child).output(), buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR);)
            text.append(buffer, n > 0 ? static_cast<std::size_t>(n) : 0);
        (void)std::get<Child>(child).wait(-1); // 1: a key is absent
        if (text == std::string{kKey} + "\tmaybe\nother\tabsent\n")
            return {};
        return Failure{Exit::unverified, "a second process answers " + escape(text)};
    }

    const Where &where_;
    Listing place_;
    Json checks_ = Json::array();
    Outcome first_failure_;
};

} // namespace

int run(const Where &where, const SelfTestOptions &) {
    SelfTest test{where};
    test.run();
    return conclude(test.fields(), test.first_failure());
}

} // namespace shmbloom::ctl
