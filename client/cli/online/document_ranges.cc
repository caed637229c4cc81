#include "client/cli/online/document_ranges.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace evenpack {
namespace {

// Cuts ":NUMBER" off the end of `text`.
bool TakeNumber(std::string& text, uint64_t& number) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos ||
      !absl::SimpleAtoi(text.substr(colon + 1), &number)) {
    return false;
  }
  text.resize(colon);
  return true;
}

// "STREAM:FIRST:COUNT"; nothing where `text` isn't that.
std::optional<v1::DocumentRange> ReadRange(absl::string_view text) {
  std::string stream(text);
  uint64_t count = 0;
  uint64_t first = 0;
  if (!TakeNumber(stream, count) || !TakeNumber(stream, first)) return std::nullopt;
  v1::DocumentRange range;
  range.set_stream(std::move(stream));
  range.set_first_sequence(first);
  range.set_documents(count);
  return range;
}

}  // namespace

absl::StatusOr<std::vector<v1::DocumentRange>> ReadDocumentRanges(
    const std::string& flag, const std::string& text) {
  std::vector<v1::DocumentRange> ranges;
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ',');
  // Of a range whose name has commas.
  std::string begun;
  for (size_t i = 0; i < parts.size(); ++i) {
    absl::StrAppend(&begun, parts[i]);
    std::optional<v1::DocumentRange> range = ReadRange(begun);
    if (range.has_value() && !range->stream().empty() && range->documents() > 0) {
      ranges.push_back(*std::move(range));
      begun.clear();
      continue;
    }
    if (range.has_value() || i + 1 == parts.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          flag, ": '", begun,
          "' is not accepted; accepted: STREAM:FIRST:COUNT, COUNT documents of the "
          "stream from sequence number FIRST on, with commas between several"));
    }
    begun.push_back(',');
  }
  return ranges;
}

}  // namespace evenpack
