#include "server/core/cost/workload_table.h"

#include <algorithm>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

// The most that the attention of documents of max_tokens tokens together can come to:
// on a piecewise-linear curve the cost per token is greatest for one token, at a knot
// or at the end.
absl::uint128 MostAttention(const LengthCurve& curve) {
  absl::uint128 most = static_cast<uint64_t>(curve.At(curve.max_tokens()));
  most = std::max(
      most, absl::uint128(static_cast<uint64_t>(curve.At(1))) * curve.max_tokens());
  for (size_t knot = 1; knot < curve.values().size(); ++knot) {
    const uint64_t tokens = static_cast<uint64_t>(knot) << curve.knot_shift();
    if (tokens > curve.max_tokens()) break;
    const absl::uint128 value = static_cast<uint64_t>(curve.values()[knot]);
    most = std::max(most, value * curve.max_tokens() / tokens + 1);
  }
  return most;
}

}  // namespace

absl::StatusOr<WorkloadTable> WorkloadTable::Create(LengthCurve attention,
                                                    LengthCurve linear) {
  if (attention.max_tokens() != linear.max_tokens()) {
    return InvalidField("linear.max_tokens", linear.max_tokens(),
                        absl::StrCat(attention.max_tokens(), ", as attention has it"));
  }
  return WorkloadTable(std::move(attention), std::move(linear));
}

WorkloadTable::WorkloadTable(LengthCurve attention, LengthCurve linear)
    : attention_(std::move(attention)),
      linear_(std::move(linear)),
      most_ns_(MostAttention(attention_) +
               static_cast<uint64_t>(linear_.At(max_tokens()))) {}

bool WorkloadTable::StepFits(uint32_t micro_batches) const {
  return most_ns_ * micro_batches <= static_cast<uint64_t>(kMaxStepNs);
}

}  // namespace evenpack
