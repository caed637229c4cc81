#include "client/cli/online/document_ranges.h"

#include <cstdint>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

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

}  // namespace

absl::StatusOr<std::vector<v1::DocumentRange>> ReadDocumentRanges(
    const std::string& flag, const std::string& text) {
  std::vector<v1::DocumentRange> ranges;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    std::string stream(part);
    uint64_t count = 0;
    uint64_t first = 0;
    if (!TakeNumber(stream, count) || !TakeNumber(stream, first) || stream.empty() ||
        count == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          flag, ": '", part,
          "' is not accepted; accepted: STREAM:FIRST:COUNT, COUNT documents of the "
          "stream from sequence number FIRST on, with commas between several"));
    }
    v1::DocumentRange range;
    range.set_stream(std::move(stream));
    range.set_first_sequence(first);
    range.set_documents(count);
    ranges.push_back(std::move(range));
  }
  return ranges;
}

}  // namespace evenpack
