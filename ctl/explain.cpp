// explain: why a key is answered as it is. Reads what a worker reads, with or without the daemon; never shows the seed.
#include <cstring>
#include <string>
#include <vector>

#include "filter.h"
#include "hints.h"
#include "journal_search.h"
#include "json.h"
#include "keys.h"
#include "numbers.h"
#include "output.h"
#include "probed_words.h"
#include "shmbloom/key.h"
#include "status.h"
#include "text.h"
#include "verbs.h"

namespace shmbloom::ctl {

namespace {

constexpr const char *kAnswers[] = {"absent", "maybe", "unverified"};

struct Explained {
    Keys keys;
    std::string key;
    std::uint64_t hash;
    FilterStatus status;
    Seen seen;
    int answer;
    JournalSearch journal{};
};

std::string doubts_text(std::uint64_t gate) {
    static constexpr const char *names[] = {"partial", "warming", "paused", "lossy", "damaged"};
    std::string text;
    for (std::size_t bit = 0; bit < std::size(names); ++bit)
        if (gate >> bit & 1)
            text += (text.empty() ? "" : ",") + std::string{names[bit]};
    return text;
}

std::string gate_text(std::uint64_t gate) {
    if (gate >> SHMBLOOM_GENERATION_SHIFT == 0)
        return "none";
    const std::string doubts = doubts_text(gate);
    return "generation " + std::to_string(gate >> SHMBLOOM_GENERATION_SHIFT) +
           (doubts.empty() ? ", live" : ", " + doubts);
}

std::string line(std::string title, const std::string &text) {
    title.resize(13, ' ');
    return title + text + "\n";
}

std::string normalize_text(const shmbloom_info &info) {
    return info.normalize[0] == '\0' ? "nothing normalised" : "normalised by " + std::string{info.normalize};
}

std::string key_lines(const Explained &e) {
    return line("key", escape(e.key) + ", " + std::to_string(e.key.size()) + (e.key.size() == 1 ? " byte" : " bytes")) +
           line("hashed as", e.keys.as_hashed(e.key) + (e.keys.is_u64() ? ", a u64: 8 bytes, little-endian" : "") +
                                 " (" + normalize_text(e.status.info) + ")") +
           line("hash", hex_text(e.hash) + " in hash domain " + hex_text(e.keys.hashing().hash_domain));
}

std::string place_line(const Probed &probed) {
    if (probed.shape.layout == SHMBLOOM_LAYOUT_BLOCKED)
        return line("block", std::to_string(probed.block) + " of " + std::to_string(probed.shape.size) +
                                 "; a word below has 64 bits, " + std::to_string(probed.shape.probes) +
                                 " of them asked for");
    std::string bits;
    for (const std::uint64_t bit : probed.bits)
        bits += (bits.empty() ? "" : " ") + std::to_string(bit);
    return line("bits", wrap(bits + " of " + std::to_string(probed.shape.size), 13));
}

std::string word_lines(const Probed &probed) {
    std::string text;
    for (const ProbedWord &word : probed.words)
        text += line("word", std::to_string(word.index) + ": is " + hex_text(word.value) + ", asked for " +
                                 hex_text(word.mask) + (word.missing() == 0 ? ", all set" : ", missing"));
    return text;
}

std::string gate_lines(const Seen &seen) {
    return line("control gate", gate_text(seen.control_gate)) + line("segment gate", gate_text(seen.segment_gate));
}

std::string answer_text(const Explained &e) {
    switch (e.answer) {
    case SHMBLOOM_ABSENT:
        return "absent: no add of it was ever acknowledged here";
    case SHMBLOOM_MAYBE:
        return "maybe: it was added, or is a false positive (" +
               (e.status.info.estimated_fpr < 0 ? std::string{"rate not known"}
                                                : format_share(e.status.info.estimated_fpr) + " of all others now") +
               ")";
    default:
        return "unverified: the bits are not asked while there is a doubt";
    }
}

std::string quoted_key(const std::string &key) {
    return key.starts_with('-') ? "-- " + shell_quote(key) : shell_quote(key);
}

std::vector<std::string> next_steps(const Where &where, const Explained &e) {
    const std::string name = e.status.info.name;
    if (e.answer == SHMBLOOM_ABSENT)
        return {"if the source has it, an add was not sent here; this adds it:",
                command_line(where, "add " + name + " " + quoted_key(e.key)),
                "and this looks for more such keys:", command_line(where, "verify " + name + " --exec -- CMD...")};
    if (e.answer == SHMBLOOM_MAYBE)
        return {"ask the source whether it exists; workers do the same"};
    std::vector<std::string> steps;
    for (const std::string &doubt : e.status.doubts()) {
        const Hint hint = hint_for(where, name, doubt);
        steps.push_back(doubt + ": " + hint.meaning + "; ended by:");
        steps.push_back(hint.ended_by);
    }
    if (steps.empty())
        steps.push_back(e.status.info.handle_doubts_text);
    return steps;
}

std::string text_of(const Where &where, const Explained &e) {
    const FilterStatus &status = e.status;
    std::string text = key_lines(e);
    text += line("filter",
                 std::string{status.info.name} + ", " + status.info.layout + ", key type " + status.info.key_type);
    if (e.seen.has_segment)
        text += place_line(e.seen.probed) + word_lines(e.seen.probed);
    text += gate_lines(e.seen);
    text += line("doubts", status.info.doubts_text[0] == '\0' ? "none" : status.info.doubts_text);
    text += line("journal", wrap(search_text(e.journal), 13));
    text += line("answer", paint(stdout, Colour::bold, answer_text(e)));
    for (const std::string &step : next_steps(where, e))
        text += line("", step.starts_with("shmbloomctl ") ? "  " + step : wrap(step, 13));
    return text;
}

Json fields_of(const Where &where, const Explained &e) {
    const bool blocked = e.seen.probed.shape.layout == SHMBLOOM_LAYOUT_BLOCKED;
    Json fields{{"name", e.status.info.name},
                {"key", e.key},
                {"key_bytes", e.key.size()},
                {"hashed_as", e.keys.as_hashed(e.key)},
                {"key_type", e.status.info.key_type},
                {"normalize", e.status.info.normalize},
                {"hash", hex_text(e.hash)},
                {"hash_domain", hex_text(e.keys.hashing().hash_domain)},
                {"layout", json_word(e.status.info.layout)},
                {"block", e.seen.has_segment && blocked ? Json(e.seen.probed.block) : Json{}},
                {"bits", e.seen.has_segment && !blocked ? Json(e.seen.probed.bits) : Json{}},
                {"words", Json::array()}};
    for (const ProbedWord &word : e.seen.probed.words)
        fields["words"].push_back({{"index", word.index},
                                   {"value", hex_text(word.value)},
                                   {"mask", hex_text(word.mask)},
                                   {"all_set", word.missing() == 0}});
    fields["control_gate"] = {{"generation", json_id(e.seen.control_gate >> SHMBLOOM_GENERATION_SHIFT)},
                              {"doubts", json_words(doubts_text(e.seen.control_gate))}};
    fields["segment_gate"] = {{"generation", json_id(e.seen.segment_gate >> SHMBLOOM_GENERATION_SHIFT)},
                              {"doubts", json_words(doubts_text(e.seen.segment_gate))}};
    fields["doubts"] = e.status.doubts();
    fields["handle_doubts"] = e.status.handle_doubts();
    fields["answer"] = kAnswers[e.answer];
    fields["next"] = next_steps(where, e);
    fields["journal_searched"] = e.journal.was_searched;
    fields["journal"] = search_object(e.journal);
    return fields;
}

} // namespace

int run(const Where &where, const ExplainOptions &options) {
    auto opened = open_filter(where, options.name);
    if (const Failure *failure = failure_of(opened))
        return fail(*failure);
    shmbloom_filter *f = std::get<Filter>(opened).get();
    auto hashing = get_hashing(f, options.name);
    if (const Failure *failure = failure_of(hashing))
        return fail(*failure);
    Explained e{Keys{take(std::move(hashing))}, options.key, 0, {}, {}, SHMBLOOM_UNVERIFIED};
    if (const int r = e.keys.hash(options.key, &e.hash); r < 0)
        return fail({Exit::usage, e.keys.why_invalid(options.key, r)});
    e.status.info = get_info(f);
    e.answer = shmbloom__contains_hash(f, e.keys.hashing().hash_domain, e.hash);
    e.seen = look_at_bits(f, e.hash);
    e.journal = search_journal(where, options.name, e.status.info.durability, e.keys.hashing().hash_domain, e.hash);
    print(text_of(where, e));
    return conclude(fields_of(where, e), {},
                    static_cast<Exit>(e.answer == SHMBLOOM_ABSENT  ? Exit::negative
                                      : e.answer == SHMBLOOM_MAYBE ? Exit::done
                                                                   : Exit::unverified));
}

} // namespace shmbloom::ctl
