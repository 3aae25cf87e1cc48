// create: makes a filter, says what was made and what to type next.
#include <string>
#include <string_view>
#include <vector>

#include "client.h"
#include "geometry/geometry.h"
#include "hints.h"
#include "json.h"
#include "numbers.h"
#include "output.h"
#include "verbs.h"

namespace shmbloom::ctl {

namespace {

// The daemon allocates every page before it replies: seconds for a few GiB.
constexpr std::chrono::seconds kCreateTimeout{600};

Result<Reply> send_create(Client &client, const CreateOptions &options) {
    const std::string capacity = std::to_string(options.capacity), fpr = exact_text(options.fpr);
    std::vector<std::string_view> command{"SB.CREATE", options.name, "CAPACITY", capacity, "FPR", fpr};
    const auto optional = [&](std::string_view word, const std::optional<std::string> &value) {
        if (value && !value->empty())
            command.insert(command.end(), {word, *value});
    };
    optional("LAYOUT", options.layout);
    optional("NORMALIZE", options.normalize);
    optional("KEYTYPE", options.key_type);
    optional("DURABILITY", options.durability);
    const std::string expansion = std::to_string(options.expansion.value_or(0));
    if (options.growable)
        command.push_back("GROWABLE");
    if (options.expansion)
        command.insert(command.end(), {"EXPANSION", expansion});
    optional("WHENFULL", options.when_full);
    if (options.nothing_exists_yet)
        command.push_back("NOTHING-EXISTS-YET");
    return client.call(command, kCreateTimeout, Exit::usage);
}

std::string describe(const CreateOptions &options, const Reply &made) {
    const std::uint64_t memory_bytes = parse_count(made.field("memory_bytes")).value_or(0);
    const std::string probes = made.field("probes");
    std::string text = "created " + options.name + ": " + made.field("layout") + ", " + format_bytes(memory_bytes);
    if (made.field("layout") == "blocked")
        text += ", one cache line a lookup, " + probes + " bits in each of 4 words";
    else
        text += ", " + probes + " probes a lookup";
    text += "; rate " + format_share(options.fpr) + " at " + format_count(options.capacity) + " keys\n";
    return text;
}

// What either layout costs, since `auto` chose by it.
std::string compare(const CreateOptions &options) {
    std::string text;
    for (const auto &[choice, name] :
         {std::pair{geometry::LayoutChoice::classic, "classic"}, std::pair{geometry::LayoutChoice::blocked, "blocked"}})
        if (const auto planned = geometry::plan(options.capacity, options.fpr, choice);
            const auto *made = std::get_if<geometry::Geometry>(&planned))
            text += (text.empty() ? "" : ", ") + std::string{name} + " " + format_bytes(made->segment_bytes);
    return "memory by layout: " + text + "\n";
}

Json fields_of(const Reply &made) {
    Json fields{{"name", made.field("name")},
                {"live", made.field("live") == "1"},
                {"layout", made.field("layout")},
                {"uuid", made.field("uuid")},
                {"hash_domain", made.field("hash_domain")},
                {"generation", made.field("generation")}};
    for (const char *name : {"capacity", "bits", "probes", "blocks", "memory_bytes"})
        fields[name] = parse_count(made.field(name)).value_or(0);
    return fields;
}

} // namespace

int run(const Where &where, const CreateOptions &options) {
    auto client = Client::connect(where);
    if (const Failure *failure = failure_of(client))
        return fail(*failure);
    auto reply = send_create(std::get<Client>(client), options);
    if (const Failure *failure = failure_of(reply))
        return fail(*failure);
    const Reply made = take(std::move(reply));
    print(describe(options, made) + compare(options));
    if (made.field("live") == "1")
        print("live: it answers absent to everything that is not added through the daemon\n"
              "next: " +
              command_line(where, "add " + options.name + " KEY...") + "\n");
    else
        print("warming: it answers unverified until a source has been loaded to its end\n"
              "next: " +
              load_command(where, options.name) +
              "\n"
              "      (CMD prints the IDs, one a line)\n");
    return conclude(fields_of(made), {});
}

} // namespace shmbloom::ctl
