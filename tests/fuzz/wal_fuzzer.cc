// A write-ahead log is damaged where commits follow what is damaged, and a torn tail is
// none, wherever it is cut.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/store/wal_check.h"
#include "tests/fuzz/require.h"

namespace evenpack::fuzz {
namespace {

constexpr size_t kHeaderBytes = 32;
constexpr size_t kFrameHeaderBytes = 24;
constexpr size_t kPageBytes = 512;
constexpr size_t kFrameBytes = kFrameHeaderBytes + kPageBytes;

void Put(uint32_t word, std::string& bytes) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes += static_cast<char>((word >> static_cast<unsigned>(shift)) & 0xffU);
  }
}

uint32_t WordAt(std::string_view bytes, size_t at, bool big_endian) {
  uint32_t word = 0;
  for (size_t i = 0; i < 4; ++i) {
    const size_t place = at + (big_endian ? i : 3 - i);
    word = word << 8U | static_cast<unsigned char>(bytes[place]);
  }
  return word;
}

// SQLite's checksum, as its file format has it.
class Checksum {
 public:
  explicit Checksum(bool big_endian) : big_endian_(big_endian) {}
  void Add(std::string_view bytes) {
    for (size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      first_ += WordAt(bytes, at, big_endian_) + second_;
      second_ += WordAt(bytes, at + 4, big_endian_) + first_;
    }
  }
  void PutIn(std::string& bytes) const {
    Put(first_, bytes);
    Put(second_, bytes);
  }

 private:
  const bool big_endian_;
  uint32_t first_ = 0;
  uint32_t second_ = 0;
};

// Numbers out of an input, 0 behind its end.
class Choices {
 public:
  explicit Choices(std::string_view bytes) : bytes_(bytes) {}
  uint32_t Next() {
    if (bytes_.empty()) return 0;
    const auto byte = static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(1);
    return byte;
  }
  uint32_t Next16() {
    const uint32_t low = Next();
    return low | Next() << 8U;
  }

 private:
  std::string_view bytes_;
};

struct MadeLog {
  std::string bytes;
  // By frame: whether it ends a commit.
  std::vector<bool> ends_commit;
};

MadeLog MakeLog(Choices& choices) {
  const bool big_endian = choices.Next() % 2 != 0;
  Checksum checksum(big_endian);
  MadeLog log;
  const uint32_t salt = choices.Next();
  for (const uint32_t word : {0x377f0682U | (big_endian ? 1U : 0U), 3007000U,
                              static_cast<uint32_t>(kPageBytes), 0U, salt, ~salt}) {
    Put(word, log.bytes);
  }
  checksum.Add(log.bytes);
  checksum.PutIn(log.bytes);
  const uint32_t frames = choices.Next() % 12;
  for (uint32_t i = 0; i < frames; ++i) {
    const uint32_t commit = choices.Next() % 3;
    std::string frame;
    Put(i + 1, frame);
    Put(commit, frame);
    const std::string page(kPageBytes, static_cast<char>(choices.Next()));
    checksum.Add(frame);
    checksum.Add(page);
    Put(salt, frame);
    Put(~salt, frame);
    checksum.PutIn(frame);
    log.bytes += frame + page;
    log.ends_commit.push_back(commit != 0);
  }
  return log;
}

// `wrong`: the frame that was damaged; the log has `frames` whole ones.
bool IsLoss(const MadeLog& log, size_t wrong, size_t frames) {
  size_t end = wrong;
  while (end < frames && !log.ends_commit[end]) ++end;
  return end + 1 < frames;
}

void CheckDamage(Choices& choices) {
  MadeLog log = MakeLog(choices);
  RequireOk(CheckWal(log.bytes), "a whole log is whole");
  const size_t cut = std::min<size_t>(choices.Next16(), log.bytes.size());
  RequireOk(CheckWal(std::string_view(log.bytes).substr(0, cut)), "a log is cut");
  if (log.ends_commit.empty()) return;
  // Not in what says where commits end, nor whose log it is.
  const size_t wrong = choices.Next() % log.ends_commit.size();
  const size_t at = 16 + choices.Next16() % (kFrameBytes - 16);
  log.bytes[kHeaderBytes + wrong * kFrameBytes + at] ^= 1;
  for (const size_t size : {log.bytes.size(), cut}) {
    const size_t frames = size < kHeaderBytes ? 0 : (size - kHeaderBytes) / kFrameBytes;
    const absl::Status status = CheckWal(std::string_view(log.bytes).substr(0, size));
    if (!IsLoss(log, wrong, frames)) {
      RequireOk(status, "damage to the last commit is a torn tail");
      continue;
    }
    RequireRefusal(status, "damage before the last commit",
                   absl::StatusCode::kDataLoss);
    Require(absl::StrContains(status.message(), absl::StrCat("frame ", wrong, " of")),
            "the damaged frame is named", status.message());
  }
}

// The input as a log whose header is whole, whatever it says.
void CheckAnyFrames(std::string_view input) {
  if (input.size() < kHeaderBytes) return;
  const bool big_endian = input[3] % 2 != 0;
  std::string header;
  Put(0x377f0682U | (big_endian ? 1U : 0U), header);
  header += input.substr(4, 20);
  Checksum checksum(big_endian);
  checksum.Add(header);
  checksum.PutIn(header);
  // As long as it is, so that a byte read behind it is found.
  std::vector<char> log(header.begin(), header.end());
  log.insert(log.end(), input.begin() + kHeaderBytes, input.end());
  log.shrink_to_fit();
  static_cast<void>(CheckWal({log.data(), log.size()}));
}

}  // namespace
}  // namespace evenpack::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenpack;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  static_cast<void>(CheckWal(input));
  fuzz::CheckAnyFrames(input);
  fuzz::Choices choices(input);
  fuzz::CheckDamage(choices);
  return 0;
}
