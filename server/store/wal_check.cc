#include "server/store/wal_check.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace evenpack {
namespace {

constexpr size_t kHeaderBytes = 32;
constexpr size_t kFrameHeaderBytes = 24;
// The last bit says in which order the checksum takes a word's bytes.
constexpr uint32_t kMagic = 0x377f0682;
constexpr uint32_t kMinPage = 512;
constexpr uint32_t kMaxPage = 65536;

uint32_t Word(std::string_view bytes, size_t at, bool big_endian = true) {
  uint32_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof(word));
  if (big_endian == (std::endian::native == std::endian::big)) return word;
  return (word >> 24) | ((word >> 8) & 0xff00) | ((word & 0xff00) << 8) | (word << 24);
}

struct Checksum {
  uint32_t first = 0;
  uint32_t second = 0;

  void Add(std::string_view bytes, bool big_endian) {
    for (size_t at = 0; at < bytes.size(); at += 8) {
      first += Word(bytes, at, big_endian) + second;
      second += Word(bytes, at + 4, big_endian) + first;
    }
  }
  bool IsAt(std::string_view bytes, size_t at) const {
    return Word(bytes, at) == first && Word(bytes, at + 4) == second;
  }
  static Checksum At(std::string_view bytes, size_t at) {
    return {Word(bytes, at), Word(bytes, at + 4)};
  }
};

// A log whose header is whole.
class WalFrames {
 public:
  explicit WalFrames(std::string_view bytes)
      : bytes_(bytes),
        big_endian_((Word(bytes, 0) & 1) != 0),
        frame_bytes_(kFrameHeaderBytes + Word(bytes, 8)) {
    checksum_.Add(bytes.substr(0, 24), big_endian_);
  }

  bool HeaderIsWhole() const { return checksum_.IsAt(bytes_, 24); }
  size_t frames() const { return (bytes_.size() - kHeaderBytes) / frame_bytes_; }
  // Frames in order, to the first that isn't.
  bool NextIsWhole(size_t number) { return IsBehind(checksum_, number); }
  // Whether the frame was written behind the one before it, of which either the bytes
  // or the checksum, but not both, may be wrong. `wrong`: the first that isn't whole.
  bool FollowsOneBefore(size_t number, size_t wrong) const {
    Checksum before = Checksum::At(Frame(number - 1), 16);
    if (IsBehind(before, number)) return true;
    before = checksum_;
    return number - 1 == wrong && IsBehind(before, number);
  }
  bool EndsCommit(size_t number) const { return Word(Frame(number), 4) != 0; }

 private:
  // `checksum`: that of the frame before; becomes that of the frame.
  bool IsBehind(Checksum& checksum, size_t number) const {
    const std::string_view frame = Frame(number);
    checksum.Add(frame.substr(0, 8), big_endian_);
    checksum.Add(frame.substr(kFrameHeaderBytes), big_endian_);
    return frame.substr(8, 8) == bytes_.substr(16, 8) && checksum.IsAt(frame, 16);
  }
  std::string_view Frame(size_t number) const {
    return bytes_.substr(kHeaderBytes + number * frame_bytes_, frame_bytes_);
  }

  const std::string_view bytes_;
  const bool big_endian_;
  const size_t frame_bytes_;
  Checksum checksum_;
};

}  // namespace

absl::Status CheckWal(std::string_view log) {
  if (log.size() < kHeaderBytes || (Word(log, 0) & ~1U) != kMagic) {
    return absl::OkStatus();
  }
  const uint32_t page = Word(log, 8);
  if (page < kMinPage || page > kMaxPage || !std::has_single_bit(page)) {
    return absl::OkStatus();
  }
  WalFrames frames(log);
  if (!frames.HeaderIsWhole()) return absl::OkStatus();
  size_t wrong = 0;
  while (wrong < frames.frames() && frames.NextIsWhole(wrong)) ++wrong;
  for (size_t i = wrong + 1; i < frames.frames(); ++i) {
    if (frames.EndsCommit(i - 1) && frames.FollowsOneBefore(i, wrong)) {
      return absl::DataLossError(
          absl::StrCat("store: frame ", wrong,
                       " of the write-ahead log is damaged, and commits "
                       "follow it; accepted: a log that is whole but for its end"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckWalOf(const std::string& path) {
  std::ifstream file(path + "-wal", std::ios::binary);
  if (!file) return absl::OkStatus();
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return CheckWal(bytes.view());
}

}  // namespace evenpack
