#include "client/cli/lengths_file.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/input_file.h"
#include "server/core/document/document.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

// Longer than any line of a lengths file: what has none is not read to its end.
constexpr size_t kLongestLine = 4096;

// 0 where `line` is not a length.
uint32_t LengthOf(std::string_view line) {
  uint64_t length = 0;
  for (const char digit : line) {
    if (digit < '0' || digit > '9') return 0;
    length = length * 10 + static_cast<uint64_t>(digit - '0');
    if (length > kMaxDocumentLength) return 0;
  }
  return static_cast<uint32_t>(length);
}

}  // namespace

absl::StatusOr<LengthsReader> LengthsReader::Open(const std::string& path) {
  absl::StatusOr<InputFile> file =
      InputFile::Open("--lengths", path,
                      "a readable file with one document length a line, or - for "
                      "standard input");
  if (!file.ok()) return file.status();
  return LengthsReader(LineReader(
      *std::move(file), kLongestLine,
      absl::StrCat("a document length in tokens, 1 to ", kMaxDocumentLength)));
}

absl::StatusOr<std::optional<uint32_t>> LengthsReader::Next() {
  const auto line = lines_.Next();
  if (!line.ok()) return line.status();
  if (!line->has_value()) return std::nullopt;
  const uint32_t length = LengthOf(**line);
  if (length == 0) return lines_.Refuse();
  return length;
}

absl::StatusOr<std::vector<uint32_t>> ReadLengths(const std::string& path) {
  absl::StatusOr<LengthsReader> reader = LengthsReader::Open(path);
  if (!reader.ok()) return reader.status();
  std::vector<uint32_t> lengths;
  while (true) {
    const absl::StatusOr<std::optional<uint32_t>> length = reader->Next();
    if (!length.ok()) return length.status();
    if (!length->has_value()) break;
    lengths.push_back(**length);
  }
  if (lengths.empty()) {
    return InvalidField("--lengths", "a file without documents",
                        "one document length in tokens a line, at least one line");
  }
  return lengths;
}

absl::Status CheckLengths(std::span<const uint32_t> lengths, uint32_t most,
                          const std::string& accepted) {
  const auto found = std::find_if(lengths.begin(), lengths.end(),
                                  [most](uint32_t length) { return length > most; });
  if (found == lengths.end()) return absl::OkStatus();
  return InvalidField(absl::StrCat("line ", found - lengths.begin() + 1),
                      absl::StrCat("'", *found, "'"), accepted);
}

}  // namespace evenpack
