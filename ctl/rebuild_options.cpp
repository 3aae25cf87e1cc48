// Options of what makes a generation: rebuild and rollback.
#include "reader.h"

namespace shmbloom::ctl {

namespace {

constexpr const char *kSinceForms = "where the source began: an LSN that `status` showed before the dump, such as "
                                    "123456, or how long ago that was at least, such as 90m or 2d";
constexpr const char *kPercentForms = "by how many percent fewer keys it may hold, 0 to 100, such as 25";

bool is_digits(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Digits alone are an LSN: a time always has its unit.
void read_since(Reader &reader, RebuildOptions &options) {
    const std::string text = reader.arguments().value("since").value_or("");
    if (is_digits(text))
        options.since_lsn = reader.number("since", parse_count, kSinceForms);
    else
        options.since_s = reader.number("since", parse_duration_s, kSinceForms);
}

std::optional<std::uint64_t> parse_percent(std::string_view text) {
    if (text.ends_with('%'))
        text.remove_suffix(1);
    const auto percent = is_digits(text) ? parse_count(text) : std::nullopt;
    return percent && *percent <= 100 ? percent : std::nullopt;
}

// Of `names` the first that is there: it has no meaning with `what`.
void refuse_any(Reader &reader, std::initializer_list<const char *> names, const std::string &what) {
    for (const char *name : names)
        if (reader.arguments().has(name) || reader.arguments().value(name))
            reader.refuse("--" + std::string{name} + " has no meaning " + what);
}

void read_name_alone(Reader &reader, RebuildOptions &options) {
    options.name = reader.next_name();
    options.expect_at_least = reader.number("expect-at-least", parse_count, kCountForms);
    reader.expect_no_more_words();
}

// A growable filter has its own source.
void read_growth(Reader &reader, RebuildOptions &options) {
    refuse_any(reader,
               {"fpr", "layout", "since", "overlap", "expect-at-least", "allow-shrink", "must-contain", "dry-run",
                "null", "keep-blanks"},
               "without a source: a growable filter is rebuilt from its own hash list, as it is");
    options.grows = true;
    read_name_alone(reader, options);
}

void read_snapshot_source(Reader &reader, RebuildOptions &options) {
    refuse_any(reader, {"exec", "null", "keep-blanks", "capacity", "fpr", "layout"},
               "with --snapshot: the file is the source, and brings its own size and rate");
    options.snapshot = *reader.arguments().value("snapshot");
    read_name_alone(reader, options);
}

} // namespace

RebuildOptions read_rebuild(Reader &reader) {
    RebuildOptions options;
    const Arguments &arguments = reader.arguments();
    options.capacity = reader.number("capacity", parse_count, kCountForms);
    options.fpr = reader.number("fpr", parse_rate, kRateForms);
    options.layout = reader.word_of("layout", "auto classic blocked");
    options.overlap_s = reader.number("overlap", parse_duration_s, kDurationForms);
    options.allow_shrink_percent = reader.number("allow-shrink", parse_percent, kPercentForms);
    options.must_contain = arguments.value("must-contain").value_or("");
    options.dry_run = arguments.has("dry-run");
    read_since(reader, options);
    const bool only_name = arguments.words.size() == 1 && !arguments.after_dashes && !arguments.has("exec");
    if (arguments.value("snapshot"))
        read_snapshot_source(reader, options);
    else if (only_name && options.capacity)
        read_growth(reader, options);
    else if (only_name)
        reader.refuse("no source; FILE, - (stdin), --snapshot FILE or --exec -- CMD... is required, but for a growable "
                      "filter: rebuild " +
                      arguments.words.front() + " --capacity N");
    else
        read_source(reader, options);
    return options;
}

RollbackOptions read_rollback(Reader &reader) {
    RollbackOptions options{reader.next_name(), reader.arguments().has("union")};
    reader.expect_no_more_words();
    return options;
}

} // namespace shmbloom::ctl
