// A file of lengths is read as a few lines of plain code read it.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/lengths_file.h"
#include "server/core/document/document.h"
#include "tests/fuzz/given_file.h"
#include "tests/fuzz/require.h"

namespace evenpack::fuzz {
namespace {

// A reader's block, and the longest line that it takes.
constexpr size_t kBlock = 256U << 10U;
constexpr size_t kLongestLine = 4096;

// Long lines that end so many bytes before a block does.
std::string LinesUpTo(size_t before_block) {
  const std::string line = std::string(kLongestLine - 1, ' ') + "7\n";
  std::string lines;
  while (lines.size() + line.size() + 2 <= kBlock - before_block) lines += line;
  lines.insert(0, std::string(kBlock - before_block - lines.size() - 2, ' ') + "7\n");
  return lines;
}

std::string_view Trimmed(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  while (!line.empty() && kBlanks.find(line.front()) != kBlanks.npos) {
    line.remove_prefix(1);
  }
  while (!line.empty() && kBlanks.find(line.back()) != kBlanks.npos) {
    line.remove_suffix(1);
  }
  return line;
}

std::optional<uint32_t> LengthOf(std::string_view line) {
  if (line.empty() || line.find_first_not_of("0123456789") != line.npos) {
    return std::nullopt;
  }
  line.remove_prefix(std::min(line.find_first_not_of('0'), line.size()));
  if (line.empty() || line.size() > 10) return std::nullopt;
  const uint64_t length = std::stoull(std::string(line));
  if (length > kMaxDocumentLength) return std::nullopt;
  return static_cast<uint32_t>(length);
}

// None where the file is to be refused.
std::optional<std::vector<uint32_t>> Expected(std::string_view text) {
  std::vector<uint32_t> lengths;
  bool blank_seen = false;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.size() > kLongestLine) return std::nullopt;
    if (Trimmed(line).empty()) {
      blank_seen = true;
      continue;
    }
    const std::optional<uint32_t> length = LengthOf(Trimmed(line));
    if (blank_seen || !length.has_value()) return std::nullopt;
    lengths.push_back(*length);
  }
  if (lengths.empty()) return std::nullopt;
  return lengths;
}

void Read(std::string_view text) {
  const GivenFile file(text);
  const auto lengths = ReadLengths(file.path());
  const auto expected = Expected(text);
  if (expected.has_value()) {
    Require(Required(lengths, "a file of lengths") == *expected, "the lengths are its");
  } else {
    RequireRefusal(lengths.status(), "a file that is none of lengths",
                   absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace evenpack::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenpack::fuzz;
  const std::string text(reinterpret_cast<const char*>(data), size);
  Read(text);
  // Now and then the same where a block ends within it, which takes long.
  if (size > 1 && data[size - 1] % 16 == 0) Read(LinesUpTo(data[0] % size) + text);
  return 0;
}
