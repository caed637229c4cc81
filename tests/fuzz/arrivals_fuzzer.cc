// A file of arrivals is read as another way of adding up its digits reads it.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/prefill/arrivals_file.h"
#include "tests/fuzz/given_file.h"
#include "tests/fuzz/require.h"

namespace evenpack::fuzz {
namespace {

constexpr std::string_view kDigits = "0123456789";

bool IsDigits(std::string_view text, size_t most) {
  return !text.empty() && text.size() <= most &&
         text.find_first_not_of(kDigits) == text.npos;
}

// None where the line, without blanks around it, is to be refused.
std::optional<int64_t> ArrivalOf(const std::string& line) {
  const size_t point = line.find('.');
  const std::string whole = line.substr(0, point);
  if (!IsDigits(whole, 7)) return std::nullopt;
  int64_t ns = std::stoll(whole) * 1'000'000'000;
  if (point != line.npos) {
    const std::string fraction = line.substr(point + 1);
    if (!IsDigits(fraction, 9)) return std::nullopt;
    int64_t unit = 100'000'000;
    for (const char digit : fraction) {
      ns += (digit - '0') * unit;
      unit /= 10;
    }
  }
  if (ns > kMostArrivalNs) return std::nullopt;
  return ns;
}

std::string Trimmed(const std::string& line) {
  const size_t first = line.find_first_not_of(" \t\r");
  if (first == line.npos) return "";
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

// The first `count` arrivals; none where the file is to be refused.
std::optional<std::vector<int64_t>> Expected(const std::string& text, size_t count) {
  std::vector<int64_t> arrivals;
  size_t next = 0;
  while (next < text.size() && arrivals.size() < count) {
    const size_t end = std::min(text.find('\n', next), text.size());
    const std::string line = text.substr(next, end - next);
    next = end + 1;
    if (line.size() > 4096) return std::nullopt;
    // Without a time; harmless at the end alone, where `count` is not reached either.
    if (Trimmed(line).empty()) return std::nullopt;
    const std::optional<int64_t> arrival = ArrivalOf(Trimmed(line));
    if (!arrival.has_value()) return std::nullopt;
    if (!arrivals.empty() && *arrival < arrivals.back()) return std::nullopt;
    arrivals.push_back(*arrival);
  }
  if (arrivals.size() < count) return std::nullopt;
  return arrivals;
}

}  // namespace
}  // namespace evenpack::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenpack::fuzz;
  if (size == 0) return 0;
  const size_t count = data[0] % 16 + 1;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  const GivenFile file(text);
  const auto arrivals = evenpack::ReadArrivals(file.path(), count);
  const auto expected = Expected(text, count);
  if (expected.has_value()) {
    Require(Required(arrivals, "a file of arrivals") == *expected,
            "the arrivals are its");
  } else {
    RequireRefusal(arrivals.status(), "a file that is none of arrivals",
                   absl::StatusCode::kInvalidArgument);
  }
  return 0;
}
