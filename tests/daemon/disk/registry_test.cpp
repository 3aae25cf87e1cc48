#include "disk/registry_json.h"

#include <algorithm>
#include <cctype>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "shmbloom/key.h"
#include "shmbloom/version.h"
#include "some_registry.h"
#include "sys/os_error.h"

namespace shmbloom {
namespace {

using Json = nlohmann::json;

std::string refusal(const std::string &text) {
    try {
        decode_registry(text, "/state/registry.json");
    } catch (const Refusal &error) {
        return error.what();
    }
    return "";
}

Json written() {
    return Json::parse(encode_registry(some_registry()));
}

// As if a daemon had written it so.
std::string seal(Json file) {
    const std::string content = file["registry"].dump();
    file["checksum"] = to_hex(XXH3_64bits(content.data(), content.size()));
    return file.dump(1);
}

void expect_clear(const std::string &text, const std::string &part) {
    EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not said in: " << text;
    EXPECT_TRUE(text.starts_with("the registry '/state/registry.json' cannot be used: ")) << text;
    EXPECT_TRUE(text.find("put a good copy") != std::string::npos || text.find("start that one") != std::string::npos)
        << text;
}

TEST(Registry, ReadsBackEveryFieldThatItWrites) {
    const Registry before = some_registry();
    const Registry after = decode_registry(encode_registry(before), "x");
    EXPECT_EQ(after.state_uuid, before.state_uuid);
    EXPECT_EQ(after.folder, before.folder);
    EXPECT_EQ(after.seed, before.seed);
    EXPECT_EQ(after.domain, before.domain);
    EXPECT_EQ(after.boot, before.boot);
    EXPECT_EQ(after.clean_stop, before.clean_stop);
    EXPECT_EQ(after.control.path, before.control.path);
    EXPECT_EQ(after.control.uuid, before.control.uuid);
    EXPECT_EQ(after.control.file, before.control.file);
    EXPECT_EQ(after.control_lost, before.control_lost);
    EXPECT_EQ(after.next_generation, before.next_generation);
    EXPECT_EQ(after.next_filter_number, before.next_filter_number);
    ASSERT_EQ(after.filters.size(), 2u);
    const FilterRecord &first = after.filters[0];
    EXPECT_EQ(first.uuid, before.filters[0].uuid);
    EXPECT_EQ(first.number, 10u);
    EXPECT_EQ(first.name, "links");
    EXPECT_EQ(first.capacity, 100'000'000u);
    EXPECT_EQ(first.fpr, 0.001);
    EXPECT_EQ(first.layout_asked, "auto");
    EXPECT_EQ(first.shape.layout, SHMBLOOM_LAYOUT_BLOCKED);
    EXPECT_EQ(first.shape.probes, 2u);
    EXPECT_EQ(first.shape.size, 3'000'000u);
    EXPECT_EQ(first.normalization, 3u);
    EXPECT_EQ(first.key_type, SHMBLOOM_KEY_TYPE_BYTES);
    EXPECT_TRUE(first.growable);
    EXPECT_EQ(first.expansion, 4u);
    EXPECT_EQ(first.generation, 41u);
    EXPECT_EQ(first.lineage, 40u);
    EXPECT_EQ(first.segment, (FileId{26, 19}));
    EXPECT_EQ(first.making, 42u);
    EXPECT_EQ(first.doubt_bits(), SHMBLOOM_DOUBT_WARMING | SHMBLOOM_DOUBT_LOSSY);
    EXPECT_EQ(first.doubts.at(SHMBLOOM_DOUBT_LOSSY).since, 1'700'000'001u);
    EXPECT_EQ(first.doubts.at(SHMBLOOM_DOUBT_LOSSY).text, "the segment was lost: \"rm\"");
    EXPECT_EQ(first.live_since, 0u);
    EXPECT_EQ(first.adds_acknowledged, 1'000u);
    EXPECT_EQ(first.adds_new, 990u);
    EXPECT_EQ(after.filters[1].segment, (FileId{UINT64_MAX, UINT64_MAX})); // no number goes through a double
    EXPECT_EQ(after.filters[1].generation, SHMBLOOM_GENERATION_MAX);
    EXPECT_EQ(after.filters[1].fpr, 1e-9);
    EXPECT_EQ(after.filters[1].key_type, SHMBLOOM_KEY_TYPE_U64);
    EXPECT_EQ(after.filters[1].live_since, 1'700'000'002u);
    ASSERT_EQ(after.ending.size(), 1u);
    EXPECT_EQ(after.ending[0].filter_uuid, before.ending[0].filter_uuid);
    EXPECT_EQ(after.ending[0].filter_name, "old");
    EXPECT_EQ(after.ending[0].generation, 39u);
    EXPECT_EQ(after.ending[0].segment, (FileId{26, 20}));
    EXPECT_TRUE(after.ending[0].gate_ended);
    EXPECT_EQ(after.adds_refused.at("links").since, 1'700'000'003u);
    EXPECT_EQ(after.adds_refused.at("links").text, "readers may exist that nobody can reach");
    // And what was forgotten above.
    EXPECT_EQ(encode_registry(after), encode_registry(before));
}

TEST(Registry, OfNothingReadsBack) {
    const Registry after = decode_registry(encode_registry(Registry{}), "x");
    EXPECT_TRUE(after.filters.empty());
    EXPECT_EQ(encode_registry(after), encode_registry(Registry{}));
}

// What was written before there was a journal: its filters keep the durability they had.
TEST(Registry, ReadsTheGoldenFileOfFormat1) {
    const auto golden = read_file(GOLDEN_FOLDER "/registry-1.json");
    ASSERT_TRUE(golden);
    const Registry read = decode_registry(*golden, "golden");
    ASSERT_EQ(read.filters.size(), 2u);
    EXPECT_EQ(read.filters[0].name, "links");
    EXPECT_EQ(read.filters[0].durability, SHMBLOOM_DURABILITY_MEMORY);
    EXPECT_EQ(read.filters[0].created, 1u);
    EXPECT_TRUE(read.filters[0].snapshots.empty());
    EXPECT_TRUE(read.journal.files.empty());
}

// What was written before there were rebuilds and growth: a growable filter of then has no list of its hashes.
TEST(Registry, ReadsTheGoldenFileOfFormat2) {
    const auto golden = read_file(GOLDEN_FOLDER "/registry-2.json");
    ASSERT_TRUE(golden);
    const Registry read = decode_registry(*golden, "golden");
    ASSERT_EQ(read.filters.size(), 2u);
    EXPECT_EQ(read.filters[0].snapshots.size(), 2u);
    EXPECT_TRUE(read.filters[0].growable);
    EXPECT_FALSE(read.filters[0].hash_list.complete);
    EXPECT_FALSE(read.filters[0].previous);
    EXPECT_EQ(read.filters[1].when_full, WhenFull::warn);
    EXPECT_EQ(read.journal.trimmed_until, 0u);
    EXPECT_EQ(read.dropped.size(), 1u);
}

// The file of the first release: every later daemon must read it.
TEST(Registry, ReadsTheGoldenFile) {
    const auto golden = read_file(GOLDEN_FOLDER "/registry-3.json");
    ASSERT_TRUE(golden);
    std::string now = encode_registry(some_registry());
    const Registry read = decode_registry(*golden, "golden");
    EXPECT_EQ(encode_registry(read), now);
    // Written the same, but for the writer: a change of format shows here first.
    const std::string writer = "\"writer\": \"" SHMBLOOM_VERSION "\"";
    ASSERT_NE(now.find(writer), std::string::npos);
    EXPECT_EQ(now.replace(now.find(writer), writer.size(), "\"writer\": \"0.1.0\""), *golden);
}

TEST(Registry, IsRefusedWhenAnyByteOfItsContentIsChanged) {
    const std::string good = encode_registry(some_registry());
    const auto begin = good.find("\"registry\"");
    for (std::size_t i = begin; i < good.rfind("\"writer\""); i++) {
        if (good[i] == ' ' || good[i] == '\n')
            continue; // between the words; within a text it is found by the checksum, but which is which?
        std::string broken = good;
        broken[i] = static_cast<char>(broken[i] ^ 1);
        ASSERT_NE(refusal(broken), "") << broken.substr(i - std::min(i, std::size_t{20}), 40);
    }
}

TEST(Registry, SaysThatItsChecksumDoesNotMatch) {
    Json file = written();
    file["registry"]["next_generation"] = 44;
    expect_clear(refusal(file.dump()), "its checksum does not match: it was changed by hand or damaged");
    file = written();
    file["checksum"] = "0000000000000000";
    expect_clear(refusal(file.dump()), "its checksum does not match");
}

TEST(Registry, ReadsOnPastSpacesThatAnEditorChanged) {
    EXPECT_EQ(refusal(written().dump()), "");
    EXPECT_EQ(refusal(written().dump(8) + "\n\n"), "");
}

TEST(Registry, OfANewerDaemonNamesIt) {
    Json file = written();
    file["format"] = kRegistryFormat + 1;
    file["writer"] = "9.9.9";
    file["registry"] = "in a form of its own";
    expect_clear(refusal(file.dump()),
                 "it was written by a newer shmbloomd (9.9.9), which this one does not understand; start that one");
    file = written();
    file["incompat"] = 1;
    expect_clear(refusal(file.dump()), "it was written by a newer shmbloomd (" SHMBLOOM_VERSION ")");
}

TEST(Registry, ThatIsNoJsonIsRefused) {
    const std::string good = encode_registry(some_registry());
    expect_clear(refusal(""), "");
    expect_clear(refusal("null"), "field 'format' is missing");
    expect_clear(refusal("[]"), "field 'format' is missing");
    expect_clear(refusal(std::string(100'000, '[')), "");
    expect_clear(refusal(good.substr(0, good.size() / 2)), "");
    expect_clear(refusal(good + good), "");
    expect_clear(refusal(std::string(4096, '\0')), ""); // what a torn write leaves on some file systems
}

// ---- every field, broken ----

struct Field {
    std::string object; // where it stands, as a JSON pointer
    std::string name;
};

std::vector<Field> fields() {
    std::vector<Field> all;
    for (const char *name : {"format", "incompat", "checksum", "registry"})
        all.push_back({"", name});
    const Json file = written();
    const auto take = [&](const std::string &object) {
        for (const auto &[name, value] : file.at(Json::json_pointer{object}).items())
            all.push_back({object, name});
    };
    for (const char *object :
         {"/registry", "/registry/folder", "/registry/control", "/registry/control/file", "/registry/filters/0",
          "/registry/filters/0/segment", "/registry/filters/0/doubts/warming", "/registry/ending/0",
          "/registry/ending/0/segment", "/registry/adds_refused/links", "/registry/journal", "/registry/journal/files/0",
          "/registry/filters/0/snapshots/1", "/registry/degraded", "/registry/dropped/0"})
        take(object);
    return all;
}

class RegistryField : public testing::TestWithParam<Field> {
  protected:
    std::string refusal_with(const Json &value) {
        file.at(Json::json_pointer{GetParam().object})[GetParam().name] = value;
        return refusal(GetParam().name == "checksum" ? file.dump() : seal(file));
    }

    Json file = written();
};

TEST_P(RegistryField, MissingIsRefusedByName) {
    file.at(Json::json_pointer{GetParam().object}).erase(GetParam().name);
    if (GetParam().name == "registry" || GetParam().name == "checksum")
        expect_clear(refusal(file.dump()), "field '" + GetParam().name + "' is missing");
    else
        expect_clear(refusal(seal(file)), "field '" + GetParam().name + "' is missing");
}

TEST_P(RegistryField, OfAnotherTypeIsRefusedByName) {
    const Json good = file.at(Json::json_pointer{GetParam().object}).at(GetParam().name);
    for (const Json &value :
         {Json{nullptr}, Json{true}, Json{-1}, Json{1.5}, Json{"text"}, Json::array({1}), Json{{"a", 1}}}) {
        if (value.type() == good.type() && !value.is_string() && !value.is_object())
            continue;
        if (value.is_string() && good.is_string() && GetParam().name != "uuid")
            continue; // any text will do for some; those that must have a form are below
        const std::string text = refusal_with(value);
        if (value.is_object() && good.is_object()) // the right type, with other fields in it
            expect_clear(text, "");
        else
            expect_clear(text, "field '" + GetParam().name + "' is not ");
    }
}

INSTANTIATE_TEST_SUITE_P(Of, RegistryField, testing::ValuesIn(fields()), [](const auto &row) {
    std::string name = row.param.object + "_" + row.param.name;
    std::ranges::replace_if(
        name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
    return name;
});

TEST(Registry, RefusesTextsThatAreNotOfTheirForm) {
    const auto refusal_of = [](const char *pointer, const Json &value) {
        Json file = written();
        file["registry"][Json::json_pointer{pointer}] = value;
        return refusal(seal(file));
    };
    expect_clear(refusal_of("/state_uuid", "1234"), "field 'state_uuid' is not a uuid");
    expect_clear(refusal_of("/boot_id", ""), "field 'boot_id' is not a uuid");
    expect_clear(refusal_of("/control/uuid", "x"), "field 'uuid' is not a uuid");
    expect_clear(refusal_of("/seed", "123"), "field 'seed' is not 16 hexadecimal digits");
    expect_clear(refusal_of("/domain", "0123456789ABCDEF"), "field 'domain' is not 16 hexadecimal digits");
    expect_clear(refusal_of("/filters/0/durability", "paper"), "field 'durability' is not one this version knows");
    expect_clear(refusal_of("/filters/0/doubts/behind", {{"since", 1}, {"text", ""}}),
                 "'behind' is not a doubt this version knows");
    expect_clear(refusal_of("/filters/0/layout", 1ull << 32), "field 'layout' is out of range");
    expect_clear(refusal_of("/filters/1", "not a filter"), "field 'uuid' is missing");
}

TEST(Registry, NeverSaysTheSeedInARefusal) {
    Json file = written();
    file["registry"]["seed"] = "SECRETSECRET";
    EXPECT_EQ(refusal(seal(file)).find("SECRET"), std::string::npos);
}

} // namespace
} // namespace shmbloom
