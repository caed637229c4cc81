#include "server/service/page_size.h"

#include <algorithm>

#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

constexpr size_t kDefaultPage = 100;
constexpr size_t kMaxPage = 1000;

}  // namespace

absl::StatusOr<size_t> PageSize(int32_t asked) {
  if (asked < 0) return InvalidField("page_size", asked, "0 or more");
  return asked == 0 ? kDefaultPage : std::min(static_cast<size_t>(asked), kMaxPage);
}

}  // namespace evenpack
