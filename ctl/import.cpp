// import: the tool puts the file into the state folder, where the daemon may read, and the daemon decides.
#include <string>

#include "client.h"
#include "hints.h"
#include "import_folder.h"
#include "json.h"
#include "numbers.h"
#include "output.h"
#include "verbs.h"

namespace shmbloom::ctl {

namespace {

// It reads all of it, and waits for a full snapshot.
constexpr std::chrono::hours kImportTimeout{24};

Result<Reply> import_from(const Where &where, const ImportOptions &options) {
    auto client = Client::connect(where);
    if (const Failure *failure = failure_of(client))
        return *failure;
    const auto brought = BroughtFile::bring(where, "import", options.file);
    if (const Failure *failure = failure_of(brought))
        return *failure;
    const std::string &name = std::get<BroughtFile>(brought).name();
    return std::get<Client>(client).call({"SB.IMPORT", options.name, name}, kImportTimeout);
}

} // namespace

int run(const Where &where, const ImportOptions &options) {
    auto imported = import_from(where, options);
    const Failure *failure = failure_of(imported);
    Json fields{{"name", options.name}, {"file", options.file}};
    const Reply info = failure == nullptr ? std::get<Reply>(imported) : Reply{};
    fields["live"] = info.field("live") == "1";
    fields["doubts"] = json_words(info.field("doubts"));
    const auto keys = parse_count(info.field("estimated_keys"));
    fields["estimated_keys"] = keys ? Json(*keys) : Json{};
    if (failure != nullptr)
        return conclude(fields, *failure);
    const std::string doubts = info.field("doubts");
    print("imported into " + options.name + ": about " + format_count(keys.value_or(0)) + " keys, " +
          (doubts.empty() ? "live" : doubts) + "\n");
    if (!doubts.empty())
        print("next: " + load_command(where, options.name) + "\n");
    return conclude(fields, {});
}

} // namespace shmbloom::ctl
