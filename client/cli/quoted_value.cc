#include "client/cli/quoted_value.h"

#include "absl/strings/str_cat.h"
#include "server/runtime/one_line.h"
#include "server/runtime/utf8_text.h"

namespace evenpack {
namespace {

constexpr size_t kMostBytes = 60;

}  // namespace

std::string QuotedValue(std::string_view value) {
  if (value.size() <= kMostBytes) return absl::StrCat("'", OnOneLine(value), "'");
  return absl::StrCat("'", OnOneLine(BeginningOf(value, kMostBytes)), "...'");
}

}  // namespace evenpack
