// Whatever a registry holds: it is decoded, or refused with the path and what to do; what was decoded is the same when it is
// written and read again.
// Input: a byte, then the file. With an odd byte its checksum is made right, so that the fuzzer comes behind it.
#include <cstdint>
#include <string>
#include <string_view>

#include "choices.h"
#include "disk/registry_json.h"
#include "sys/os_error.h"

namespace {

using namespace shmbloom;

const std::string kPath = "/state/registry.json";

std::string seal(std::string_view text) {
    Json file = Json::parse(text, nullptr, false);
    if (!file.is_object() || !file.contains("registry"))
        return std::string{text};
    file["checksum"] = registry_checksum(file["registry"]);
    return file.dump();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    if (size == 0)
        return 0;
    Input input{data, size};
    const bool is_sealed = input.byte() % 2 == 1;
    const std::string text = is_sealed ? seal(input.rest()) : std::string{input.rest()};
    try {
        const std::string once = encode_registry(decode_registry(text, kPath));
        require(encode_registry(decode_registry(once, kPath)) == once, "what was read is written as it was");
    } catch (const Refusal &refusal) {
        const std::string_view what = refusal.what();
        require(what.find(kPath) != std::string_view::npos && what.find(';') != std::string_view::npos,
                "a refusal has the path and what to do");
    }
    return 0;
}
