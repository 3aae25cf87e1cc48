// SB.CREATE, BF.RESERVE, SB.DROP, SB.SNAPSHOT.
#include "service/dispatcher.h"
#include "service/names.h"
#include "service/replies.h"
#include "service/usages.h"
#include "store/durability.h"

namespace shmbloom {
namespace {

namespace reply = net::reply;

std::optional<std::uint32_t> parse_expansion(std::string_view text, std::uint64_t least) {
    const auto number = parse_unsigned(text);
    if (!number || *number < least || *number > 32768)
        return std::nullopt;
    return static_cast<std::uint32_t>(*number);
}

// One option behind SB.CREATE's name. Returns what is wrong, or "".
std::string read_option(CreateRequest &request, std::string_view option, std::string_view value) {
    const auto bad = [&](const char *allowed) {
        return std::string{option} + " '" + std::string{value} + "' is not " + allowed;
    };
    if (is_word(option, "CAPACITY")) {
        const auto number = parse_unsigned(value);
        request.capacity = number.value_or(0);
        return number ? "" : bad("a whole number of keys, 1 to 2^40");
    }
    if (is_word(option, "FPR")) {
        const auto rate = parse_real(value);
        request.fpr = rate.value_or(0);
        return rate ? "" : bad("a rate from 1e-9 to 0.5");
    }
    if (is_word(option, "LAYOUT")) {
        request.layout = value;
        return geometry::parse_layout(value) ? "" : bad("auto, classic or blocked");
    }
    if (is_word(option, "NORMALIZE")) {
        const auto bits = parse_normalization(value);
        request.normalization = bits.value_or(0);
        return bits ? "" : bad("trim, lower or trim,lower");
    }
    if (is_word(option, "DURABILITY")) {
        const auto durability = parse_durability(value);
        request.durability = durability.value_or(0);
        return durability ? "" : bad("durable, logged or memory");
    }
    if (is_word(option, "EXPANSION")) {
        const auto expansion = parse_expansion(value, 2);
        request.expansion = expansion.value_or(0);
        request.growable = true;
        return expansion ? "" : bad("a whole number from 2 to 32768");
    }
    if (is_word(option, "WHENFULL")) {
        request.when_full = is_word(value, "REFUSE") ? WhenFull::refuse : WhenFull::warn;
        return is_word(value, "REFUSE") || is_word(value, "WARN") ? "" : bad("warn or refuse");
    }
    if (is_word(option, "KEYTYPE")) {
        const auto type = parse_key_type(value);
        request.key_type = type.value_or(0);
        return type ? "" : bad("bytes or u64");
    }
    return "unknown option '" + std::string{option} + "'; usage: " + kCreateUsage;
}

} // namespace

void Dispatcher::create(const Call &call) {
    CreateRequest request;
    request.name = call.arguments[1];
    for (std::size_t i = 2; i < call.arguments.size();) {
        if (is_word(call.arguments[i], "NOTHING-EXISTS-YET") || is_word(call.arguments[i], "GROWABLE")) {
            (is_word(call.arguments[i], "GROWABLE") ? request.growable : request.nothing_exists_yet) = true;
            i++;
            continue;
        }
        if (i + 1 == call.arguments.size())
            return call.reply(
                reply::error("ERR", "'" + std::string{call.arguments[i]} + "' has no value; usage: " + kCreateUsage));
        if (const std::string wrong = read_option(request, call.arguments[i], call.arguments[i + 1]); !wrong.empty())
            return call.reply(reply::error("RANGE", wrong));
        i += 2;
    }
    instance_.create(request, reply_info(call, request.name));
}

// RedisBloom's command, but for one thing: the filter is warming until its source was loaded, or SB.LIVE said so.
void Dispatcher::reserve(const Call &call) {
    CreateRequest request;
    request.name = call.arguments[1];
    request.growable = true;
    if (const std::string wrong = read_option(request, "FPR", call.arguments[2]); !wrong.empty())
        return call.reply(reply::error("RANGE", wrong));
    if (const std::string wrong = read_option(request, "CAPACITY", call.arguments[3]); !wrong.empty())
        return call.reply(reply::error("RANGE", wrong));
    bool has_expansion = false;
    for (std::size_t i = 4; i < call.arguments.size(); i++) {
        if (is_word(call.arguments[i], "NONSCALING")) {
            request.growable = false;
        } else if (is_word(call.arguments[i], "EXPANSION") && i + 1 < call.arguments.size()) {
            const auto expansion = parse_expansion(call.arguments[++i], 1); // as RedisBloom; grows by 2
            if (!expansion)
                return call.reply(reply::error("RANGE", "EXPANSION is a whole number from 1 to 32768"));
            request.expansion = *expansion;
            has_expansion = true;
        } else {
            return call.reply(usage_error(kReserveUsage));
        }
    }
    if (has_expansion && !request.growable)
        return call.reply(reply::error("RANGE", "EXPANSION and NONSCALING exclude each other"));
    instance_.create(request, reply_ok(call));
}

void Dispatcher::drop(const Call &call) {
    instance_.drop(std::string{call.arguments[1]}, reply_ok(call));
}

void Dispatcher::snapshot(const Call &call) {
    instance_.snapshot(call.arguments[1], reply_ok(call));
}

} // namespace shmbloom
