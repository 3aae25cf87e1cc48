// What a rebuild or a rollback may take away, and what it must not: adds since it began, and what its source brought.
#include <algorithm>
#include <cstring>

#include "choices.h"
#include "service/names.h"
#include "service/replies.h"
#include "witness.h"

namespace shmbloom {
namespace {

bool is_verb(const std::vector<std::string> &arguments, std::string_view verb, std::string_view word) {
    return arguments[0] == verb && arguments.size() > 2 && is_word(arguments[2], word);
}

std::string_view field(const ReadReply &reply, std::string_view name) {
    for (std::size_t i = 0; i + 1 < reply.elements.size(); i += 2)
        if (reply.elements[i].text == name)
            return reply.elements[i + 1].text;
    return {};
}

} // namespace

bool Witness::is_switch(const UnderWay &command) {
    return command.arguments[0] == "SB.ROLLBACK" || is_verb(command.arguments, "SB.REBUILD", "END");
}

// It may be done at any moment from now on.
void Witness::before_switch(UnderWay &command, Known &known) const {
    if (is_verb(command.arguments, "SB.REBUILD", "BEGIN")) {
        command.rebuilds = ++known.rebuilds.begun;
        known.rebuilds.since_begun.clear();
    }
    if (is_switch(command))
        command.aside = std::exchange(known.hashes, known.rebuilds.since_begun);
}

void Witness::rebuild_replied(const UnderWay &command, const ReadReply &reply, Known &known) const {
    Rebuilds &rebuilds = known.rebuilds;
    const bool is_end = is_verb(command.arguments, "SB.REBUILD", "END");
    if (is_verb(command.arguments, "SB.REBUILD", "BEGIN") && !reply.is_error()) {
        rebuilds.session = command.session;
        rebuilds.brought.clear();
    }
    if (rebuilds.session == command.session && (is_end || is_verb(command.arguments, "SB.REBUILD", "ABORT")))
        rebuilds.session = 0;
    if (!is_switch(command))
        return;
    if (reply.is_error() || (is_end && field(reply, "switched") != "1")) {
        known.hashes.insert(command.aside.begin(), command.aside.end()); // nothing changed
        return;
    }
    const std::set<std::uint64_t> &brought = is_end ? rebuilds.brought : rebuilds.previous;
    known.hashes.insert(brought.begin(), brought.end());
    if (!is_end && command.arguments.size() > 2) // UNION
        known.hashes.insert(command.aside.begin(), command.aside.end());
    rebuilds.previous = command.aside;
}

void Witness::bulk_replied(const UnderWay &command, const ReadReply &reply, Known &known) const {
    const std::string &hashes = command.arguments[3];
    require(reply.type == '*' && reply.elements.size() == 3, "a bulk is answered with three counts");
    std::int64_t count = 0;
    for (const ReadReply &answer : reply.elements)
        count += answer.number;
    require(static_cast<std::size_t>(count) * 8 == hashes.size(), "every hash of a bulk is counted");
    const auto load = known.loads.find(command.session);
    if (load != known.loads.end())
        load->second += static_cast<std::uint64_t>(count);
    for (std::size_t i = 0; i < hashes.size(); i += 8) {
        std::uint64_t hash = 0;
        std::memcpy(&hash, hashes.data() + i, 8);
        if (known.rebuilds.session == command.session && command.rebuilds == known.rebuilds.begun)
            known.rebuilds.brought.insert(hash);
        else if (load != known.loads.end())
            known.bulk[command.session].insert(hash);
    }
}

} // namespace shmbloom
