#include "client/cli/prefill/arrivals_file.h"

#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/input_file.h"
#include "client/cli/line_reader.h"
#include "client/cli/quoted_value.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

// Longer than any time.
constexpr size_t kLongestArrivalLine = 4096;

// Nothing where `text` is no time from 0 to kMostArrivalNs.
std::optional<int64_t> ParseSeconds(std::string_view text) {
  const size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  std::string fraction(point == std::string_view::npos ? "0" : text.substr(point + 1));
  if (whole.empty() || whole.size() > 7 || fraction.empty() || fraction.size() > 9) {
    return std::nullopt;
  }
  fraction.resize(9, '0');
  int64_t ns = 0;
  for (const char digit : std::string(whole) + fraction) {
    if (digit < '0' || digit > '9') return std::nullopt;
    ns = ns * 10 + (digit - '0');
  }
  if (ns > kMostArrivalNs) return std::nullopt;
  return ns;
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> ReadArrivals(const std::string& path,
                                                  size_t count) {
  constexpr const char* kAccepted =
      "seconds, with up to nine digits behind a point, at most 8640000, and not less "
      "than on the line before";
  absl::StatusOr<InputFile> file = InputFile::Open(
      "--arrivals-file", path, "a readable file with a time in seconds a line");
  if (!file.ok()) return file.status();
  LineReader lines(*std::move(file), kLongestArrivalLine, kAccepted);
  std::vector<int64_t> arrivals;
  while (arrivals.size() < count) {
    const auto line = lines.Next();
    if (!line.ok()) return line.status();
    if (!line->has_value()) break;
    const std::optional<int64_t> arrival = ParseSeconds(**line);
    if (!arrival.has_value()) return lines.Refuse();
    if (!arrivals.empty() && *arrival < arrivals.back()) return lines.Refuse();
    arrivals.push_back(*arrival);
  }
  if (arrivals.size() < count) {
    return InvalidField(
        "--arrivals-file",
        absl::StrCat(QuotedValue(path), " (", arrivals.size(), " lines)"),
        absl::StrCat("a time for each of ", count, " requests"));
  }
  return arrivals;
}

}  // namespace evenpack
