#include "client/cli/quoted_value.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace evenpack {
namespace {

constexpr size_t kMostBytes = 60;

}  // namespace

std::string OnOneLine(std::string_view text) {
  std::string line;
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte == '\n') {
      line += "\\n";
    } else if (byte < 0x20 || byte >= 0x7f) {
      line += absl::StrFormat("\\x%02x", byte);
    } else {
      line += character;
    }
  }
  return line;
}

std::string QuotedValue(std::string_view value) {
  if (value.size() <= kMostBytes) return absl::StrCat("'", OnOneLine(value), "'");
  return absl::StrCat("'", OnOneLine(value.substr(0, kMostBytes)), "...'");
}

}  // namespace evenpack
