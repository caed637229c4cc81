#include "server/core/cost/length_curve.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

constexpr int kMaxKnotShift = 31;

uint64_t SegmentsFor(uint32_t max_tokens, int knot_shift) {
  const uint64_t width = uint64_t{1} << knot_shift;
  return (max_tokens + width - 1) >> knot_shift;
}

absl::Status CheckShape(uint32_t max_tokens, int knot_shift, size_t values) {
  if (knot_shift < 0 || knot_shift > kMaxKnotShift) {
    return InvalidField("knot_shift", knot_shift, "0 to 31");
  }
  const uint64_t segments = SegmentsFor(max_tokens, knot_shift);
  if (values != segments + 1) {
    return InvalidField(
        "values", absl::StrCat(values, " values"),
        absl::StrCat(segments + 1, " values for max_tokens ", max_tokens));
  }
  return absl::OkStatus();
}

absl::Status CheckValues(const std::vector<int64_t>& values) {
  int64_t previous = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < previous) {
      return InvalidField(
          absl::StrCat("values[", i, "]"), values[i],
          absl::StrCat("at least ", previous, i == 0 ? "" : ", the value before it"));
    }
    previous = values[i];
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LengthCurve> LengthCurve::Create(uint32_t max_tokens, int knot_shift,
                                                std::vector<int64_t> values) {
  if (max_tokens == 0) {
    if (knot_shift == 0 && values.empty()) return LengthCurve();
    return InvalidField("max_tokens", max_tokens,
                        "at least 1, or 0 with knot_shift 0 and no values");
  }
  absl::Status status = CheckShape(max_tokens, knot_shift, values.size());
  status.Update(CheckValues(values));
  if (!status.ok()) return status;
  LengthCurve curve;
  curve.max_tokens_ = max_tokens;
  curve.knot_shift_ = knot_shift;
  curve.segments_ = values.size() - 1;
  curve.values_ = std::move(values);
  return curve;
}

absl::StatusOr<LengthCurve> LengthCurve::Sample(
    uint32_t max_tokens,
    absl::FunctionRef<absl::StatusOr<int64_t>(uint64_t tokens)> value) {
  if (max_tokens == 0) return InvalidField("max_tokens", max_tokens, "at least 1");
  const int knot_shift = KnotShiftFor(max_tokens);
  const uint64_t segments = SegmentsFor(max_tokens, knot_shift);
  std::vector<int64_t> values;
  values.reserve(segments + 1);
  for (uint64_t knot = 0; knot <= segments; ++knot) {
    absl::StatusOr<int64_t> at_knot = value(knot << knot_shift);
    if (!at_knot.ok()) return at_knot.status();
    values.push_back(*at_knot);
  }
  return Create(max_tokens, knot_shift, std::move(values));
}

int LengthCurve::KnotShiftFor(uint32_t max_tokens) {
  int shift = 0;
  while (SegmentsFor(max_tokens, shift) > kMaxSegments) ++shift;
  return shift;
}

int64_t LengthCurve::Beyond(uint64_t tokens) const {
  if (segments_ == 0) return 0;
  const int64_t last = values_[segments_];
  const auto rise = static_cast<uint64_t>(last - values_[segments_ - 1]);
  const uint64_t past = tokens - (static_cast<uint64_t>(segments_) << knot_shift_);
  const absl::uint128 more = (absl::uint128(rise) * past) >> knot_shift_;
  const auto room = static_cast<uint64_t>(std::numeric_limits<int64_t>::max() - last);
  if (more > room) return std::numeric_limits<int64_t>::max();
  return last + static_cast<int64_t>(absl::Uint128Low64(more));
}

}  // namespace evenpack
