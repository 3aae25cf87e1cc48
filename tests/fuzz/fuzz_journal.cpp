// Whatever a file of the journal holds: a reader and a scan do not crash, a frame is one that its checksum is right for and
// lies within the file, and a scan that says "no damage" covers every LSN below what any frame says is durable.
// Input: a byte that says which checksums are made right in the end and whether the registry names the file; then frames and
// changes, a byte each that says which, and what it needs.
#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <string>
#include <unistd.h>

#include "choices.h"
#include "disk/journal_format.h"
#include "disk/journal_scan.h"
#include "shmbloom/key.h"

namespace {

using namespace shmbloom;
namespace format = journal_format;

constexpr std::size_t kFileMax = 64u << 10;
constexpr std::uint64_t kId = 0x0123456789ABCDEF;

const Uuid kState = Uuid::from(reinterpret_cast<const std::uint8_t *>("sixteen bytes..."));

std::string make_header() {
    format::FileHeader header{};
    header.magic = format::kMagic;
    header.version = format::kVersion;
    header.header_bytes = format::kHeaderBytes;
    std::ranges::copy(kState.bytes, header.state_uuid);
    header.number = 1;
    header.file_id = kId;
    std::string file(format::kHeaderBytes, '\0');
    std::memcpy(file.data(), &header, sizeof header);
    return file;
}

// A frame with small numbers, so that they meet.
void append_frame(std::string &file, Input &input) {
    format::FrameHeader header{};
    header.magic = format::kFrameMagic;
    header.header_bytes = sizeof header;
    header.type = input.byte() % 4 == 0 ? format::kMarker : format::kAdds;
    header.filter_number = input.byte() % 3;
    header.count = header.type == format::kMarker ? 0 : input.byte() % 8;
    header.first_lsn = 1 + input.byte();
    header.after_lsn = 1 + input.byte();
    header.durable_lsn = input.byte();
    file.append(reinterpret_cast<const char *>(&header), sizeof header);
    file.append(8 * std::size_t{header.count}, 'h');
}

void seal_header(std::string &file) {
    if (file.size() < sizeof(format::FileHeader))
        return;
    format::FileHeader header;
    std::memcpy(&header, file.data(), sizeof header);
    header.checksum = XXH3_64bits(&header, offsetof(format::FileHeader, checksum));
    std::memcpy(file.data(), &header, sizeof header);
}

std::uint64_t checksum_at(const std::string &file, std::size_t at, const format::FrameHeader &header, std::uint64_t id) {
    const auto before = XXH3_64bits_withSeed(&header, offsetof(format::FrameHeader, checksum), id);
    return XXH3_64bits_withSeed(file.data() + at + sizeof header, 8 * std::size_t{header.count}, before);
}

// Those that lie within the file, at each place that begins like one.
void seal_frames(std::string &file, std::uint64_t id) {
    for (std::size_t at = format::kHeaderBytes; at + sizeof(format::FrameHeader) <= file.size(); at += 8) {
        format::FrameHeader header;
        std::memcpy(&header, &file[at], sizeof header);
        const std::size_t bytes = sizeof header + 8 * std::size_t{header.count};
        if (header.magic != format::kFrameMagic || at + bytes > file.size())
            continue;
        header.checksum = checksum_at(file, at, header, id);
        std::memcpy(&file[at], &header, sizeof header);
    }
}

void change(std::string &file, Input &input) {
    const std::uint8_t what = input.byte();
    if (what % 4 < 2)
        return append_frame(file, input);
    if (what % 8 == 6) {
        file.resize(std::min(kFileMax, file.size() + input.number()));
        return;
    }
    if (what % 8 == 7) {
        file.resize(file.size() - std::min(file.size(), input.number() % 256));
        return;
    }
    const std::size_t from = (what & 128) != 0 ? 0 : format::kHeaderBytes;
    for (std::size_t n = 1 + what / 8 % 8, at = from + input.number() % 2048; n > 0; n--, at++) {
        const char value = static_cast<char>(input.byte());
        if (at < file.size())
            file[at] = value;
    }
}

class Place {
  public:
    Place() { require(folder_ && file_, "the folder can be used"); }
    ~Place() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    void put(const std::string &content) {
        // In this order it keeps its memory.
        require(::pwrite(file_.get(), content.data(), content.size(), 0) == static_cast<ssize_t>(content.size()) &&
                    ::ftruncate(file_.get(), static_cast<off_t>(content.size())) == 0,
                "it is written");
    }
    int folder() const { return folder_.get(); }
    const std::string &path() const { return path_; }

  private:
    static std::string make_folder() {
        std::string path = "/dev/shm/shmbloom-fuzz-XXXXXX";
        require(::mkdtemp(path.data()) != nullptr, "there is room in /dev/shm");
        return path;
    }

    const std::string path_ = make_folder();
    const UniqueFd folder_{::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    const UniqueFd file_{::openat(folder_.get(), "1", O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
};

struct Found {
    std::set<Lsn> covered;
    Lsn durable = 1;
    std::size_t frames = 0;
    std::uint64_t sum = 0;
};

Found read_all(Place &place, const std::string &content) {
    Found found;
    std::string reason;
    const auto reader = JournalReader::open(place.folder(), place.path(), 1, reason);
    require((reader == nullptr) == (reason.find(place.path() + "/1") != std::string::npos), "a file, or a reason with its path");
    if (!reader)
        return found;
    std::size_t bytes = 0;
    while (const auto frame = reader->next()) {
        require(frame->first >= frame->after && frame->durable <= frame->first, "its LSNs are in order");
        require(frame->hashes.size() <= format::kHashesMax, "no more hashes than one may have");
        for (const std::uint64_t hash : frame->hashes)
            found.sum += hash; // the address sanitizer looks
        bytes += sizeof(format::FrameHeader) + 8 * frame->hashes.size();
        found.durable = std::max(found.durable, frame->durable);
        found.frames++;
        for (Lsn lsn = frame->after; lsn < std::min<Lsn>(frame->end(), 4096); lsn++)
            found.covered.insert(lsn);
    }
    const std::size_t behind_header = content.size() - std::min<std::size_t>(content.size(), format::kHeaderBytes);
    require(bytes + reader->bad_bytes() <= behind_header + 8, "nothing is read twice");
    require(reader->first_bad().has_value() == (reader->bad_bytes() > 0), "bad bytes have a place");
    return found;
}

void check_scan(Place &place, const Found &found, bool is_named) {
    const std::vector<JournalFileRecord> named{{1, kId}};
    JournalScan scan{place.folder(), place.path(), is_named ? named : std::vector<JournalFileRecord>{}, {kState}};
    std::size_t used = 0;
    scan.read(1, [&](const JournalFrameView &) { used++; });
    require(used <= found.frames && scan.counts().frames <= found.frames, "a scan reads what the reader does");
    const std::string damage = scan.damage(1);
    if (scan.counts().frames > 0) { // else it is of another state, or has none
        require(scan.next() >= found.durable, "no LSN is given out again");
        for (Lsn lsn = 1; damage.empty() && lsn < std::min<Lsn>(found.durable, 4096); lsn++)
            require(found.covered.contains(lsn), "no damage: nothing that was durable is missing");
    } else if (is_named && scan.counts().files == 0) {
        require(damage.find(place.path() + "/1") != std::string::npos, "a named file that cannot be read is damage");
    }
    scan.unused();
    scan.named();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    static Place place;
    Input input{data, size};
    const std::uint8_t flags = input.byte();
    std::string file = make_header();
    while (!input.is_empty() && file.size() < kFileMax)
        change(file, input);
    if ((flags & 1) == 0)
        seal_header(file);
    if ((flags & 2) == 0)
        seal_frames(file, kId);
    place.put(file);
    const Found found = read_all(place, file);
    check_scan(place, found, (flags & 4) == 0);
    return 0;
}
