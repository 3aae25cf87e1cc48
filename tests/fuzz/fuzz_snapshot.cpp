// Whatever a snapshot holds, the reader does not crash, says why it refuses, and gives bits only that all checksums are
// right for, into exactly the memory that the header's shape takes.
// Input: a byte that says which snapshot it begins with and which checksums are made right in the end, so that the
// fuzzer comes behind them; then changes, a byte each that says which, and what it needs.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>

#include "choices.h"
#include "disk/snapshot.h"
#include "geometry/geometry.h"
#include "support/seal_snapshot.h"
#include "sys/unique_fd.h"

namespace {

using namespace shmbloom;

constexpr std::size_t kFileMax = 512u << 10;
const char *const kName = "7.snapshot";

SnapshotPlaces places_of(const std::string &file) {
    const auto header = test::read_as<SnapshotHeader>(file, 0);
    return {header.bits_bytes, header.chunk_bytes};
}

std::string make_file(const shmbloom_shape &shape) {
    SnapshotHeader header{};
    header.magic = kSnapshotMagic;
    header.version = kSnapshotVersion;
    header.header_bytes = sizeof header;
    header.number = 7;
    header.generation = header.lineage = header.s = 1;
    header.hash_id = SHMBLOOM_HASH_XXH3_64;
    header.capacity = 100;
    header.fpr = 0.01;
    header.layout = shape.layout;
    header.probes = shape.probes;
    header.size = shape.size;
    header.bits_bytes = geometry::place(shape).bits_bytes;
    header.chunk_bytes = kSnapshotChunkBytesMin;
    const SnapshotPlaces places{header.bits_bytes, header.chunk_bytes};
    SnapshotFooter footer{};
    footer.magic = kSnapshotFooterMagic;
    footer.chunk_count = places.chunk_count();
    std::string file(places.file_bytes(), '\0');
    Choices bits{1};
    std::generate_n(&file[sizeof header], header.bits_bytes, [&] { return static_cast<char>(bits.up_to(255)); });
    std::memcpy(file.data(), &header, sizeof header);
    std::memcpy(&file[places.footer_offset()], &footer, sizeof footer);
    test::seal_snapshot(file);
    return file;
}

// As long as its header wants it, the footer at its end: a fuzzer would hardly find the three numbers.
void fit(std::string &file) {
    if (file.size() < sizeof(SnapshotHeader) + sizeof(SnapshotFooter))
        return;
    auto header = test::read_as<SnapshotHeader>(file, 0);
    auto footer = test::read_as<SnapshotFooter>(file, file.size() - sizeof(SnapshotFooter));
    header.bits_bytes = geometry::place({header.layout, header.probes, header.size}).bits_bytes;
    const SnapshotPlaces places{header.bits_bytes, header.chunk_bytes};
    if (header.bits_bytes > kFileMax / 2 || header.chunk_bytes < 512 || header.chunk_bytes > 1u << 30)
        return;
    footer.chunk_count = places.chunk_count();
    file.resize(places.file_bytes());
    std::memcpy(file.data(), &header, sizeof header);
    std::memcpy(&file[places.footer_offset()], &footer, sizeof footer);
}

void change(std::string &file, Input &input) {
    const std::uint8_t what = input.byte();
    if (what % 8 == 6)
        return fit(file);
    if (what % 8 == 7)
        return file.resize(std::min(kFileMax, what < 128 ? file.size() + input.number()
                                                         : file.size() - std::min(file.size(), input.number())));
    std::size_t offset = input.number();
    if (what % 8 < 4) // header
        offset %= 256;
    else if (what % 8 == 4) // table and footer, from the end
        offset = file.size() - std::min(file.size(), offset % 128);
    else // anywhere
        offset *= 4;
    for (std::size_t n = 1 + what / 8 % 8; n > 0; n--, offset++) {
        const char value = static_cast<char>(input.byte());
        if (offset < file.size())
            file[offset] = value;
    }
}

class Place {
  public:
    Place() { require(folder_ && file_, "the folder can be used"); }
    ~Place() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    void put(const std::string &file) {
        require(::pwrite(file_.get(), file.data(), file.size(), 0) == static_cast<ssize_t>(file.size()),
                "it is written");
        cut(file.size());
    }
    void cut(std::size_t size) { require(::ftruncate(file_.get(), static_cast<off_t>(size)) == 0, "it is cut"); }

    std::unique_ptr<SnapshotFile> open() {
        reason.clear();
        auto file = SnapshotFile::open(folder_.get(), kName, path_, reason);
        require((file == nullptr) == is_reason(), "a file, or a reason with its path");
        return file;
    }
    bool is_reason() const { return reason.starts_with("the snapshot '" + path_ + "/" + kName + "' "); }

    std::string reason;

  private:
    static std::string make_folder() {
        std::string path = "/dev/shm/shmbloom-fuzz-XXXXXX";
        require(::mkdtemp(path.data()) != nullptr, "there is room in /dev/shm");
        return path;
    }

    const std::string path_ = make_folder();
    const UniqueFd folder_{::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    const UniqueFd file_{::openat(folder_.get(), kName, O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
};

bool is_sealed(const std::string &file) {
    std::string sealed = file;
    test::seal_snapshot(sealed);
    return sealed == file;
}

// Of exactly the size, so that the address sanitizer sees every step outside.
std::unique_ptr<std::uint64_t[]> zeros(const SnapshotFile &file) {
    return std::make_unique<std::uint64_t[]>(file.bits_bytes() / 8);
}

// True when its bits were read.
bool check(Place &place, const std::string &content, std::size_t cut) {
    const auto file = place.open();
    if (file == nullptr)
        return false;
    const shmbloom_shape shape = file->identity().shape;
    require(content.size() == places_of(content).file_bytes(), "the size is what the header implies");
    require(file->bits_bytes() == geometry::place(shape).bits_bytes, "the bits are what the shape takes");
    require(shape.probes >= 1 && shape.probes <= 64 && shape.size >= 1, "the shape can be used");
    require(file->bits_set() <= 8 * file->bits_bytes(), "no more ones than bits");
    if (cut > 0)
        place.cut(content.size() - std::min(content.size(), cut));
    const auto read = zeros(*file), merged = zeros(*file);
    place.reason.clear();
    const bool is_read = file->read_into(read.get(), place.reason);
    require(is_read != place.is_reason() && is_read == place.reason.empty(), "bits, or a reason with the path");
    require(file->merge_into(merged.get(), place.reason) == is_read, "both ways see the same file");
    if (!is_read)
        return false;
    require(is_sealed(content), "bits only when every checksum is right");
    const char *const bits = content.data() + sizeof(SnapshotHeader);
    require(std::memcmp(read.get(), bits, file->bits_bytes()) == 0, "the bits are the file's");
    require(std::memcmp(merged.get(), bits, file->bits_bytes()) == 0, "merged into none as well");
    return true;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    static Place place;
    static const std::string one_chunk = make_file({SHMBLOOM_LAYOUT_CLASSIC, 7, 4096});
    static const std::string three_chunks = make_file({SHMBLOOM_LAYOUT_BLOCKED, 2, 2 * 1024 + 10});
    Input input{data, size};
    const std::uint8_t flags = input.byte();
    const std::string &begin = flags % 2 == 0 ? one_chunk : three_chunks;
    // A cut while it is open.
    const std::size_t cut = (flags & 16) != 0 ? 1 + input.number() : 0;
    static std::string file; // kept, for its memory
    file = begin;
    while (!input.is_empty())
        change(file, input);
    test::seal_snapshot(file, {(flags & 2) != 0, (flags & 4) != 0, (flags & 8) != 0});
    place.put(file);
    const bool is_read = check(place, file, cut);
    require(is_read || file != begin || cut > 0, "what a writer wrote is read");
    return 0;
}
