#include "server/core/outlier/queue_thresholds.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/core/document/document.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {

absl::Status ValidateQueueThresholds(std::span<const uint32_t> thresholds) {
  uint32_t previous = 0;
  for (size_t i = 0; i < thresholds.size(); ++i) {
    const uint32_t threshold = thresholds[i];
    if (threshold <= previous || threshold > kMaxDocumentLength) {
      return InvalidField(
          absl::StrCat("queue_thresholds[", i, "]"), threshold,
          absl::StrCat("rising token counts from 1 to ", kMaxDocumentLength,
                       ", here at least ", uint64_t{previous} + 1));
    }
    previous = threshold;
  }
  return absl::OkStatus();
}

std::optional<size_t> QueueOf(std::span<const uint32_t> thresholds, uint32_t length) {
  const auto above = std::upper_bound(thresholds.begin(), thresholds.end(), length);
  if (above == thresholds.begin()) return std::nullopt;
  return static_cast<size_t>(above - thresholds.begin()) - 1;
}

}  // namespace evenpack
