// An integer, piecewise-linear function of a token count: the form in which a job
// keeps a workload model, so that every machine computes the same integers from it.
//
//   absl::StatusOr<LengthCurve> curve = LengthCurve::Sample(
//       196608, [](uint64_t tokens) { return AttentionNs(tokens); });
//   int64_t nanoseconds = curve->At(document.length);
#ifndef EVENPACK_SERVER_CORE_COST_LENGTH_CURVE_H_
#define EVENPACK_SERVER_CORE_COST_LENGTH_CURVE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"

namespace evenpack {

// Knots lie at 0, 2^knot_shift, 2 * 2^knot_shift and so on, the last of them at or
// just above max_tokens. Between two knots the value is the straight line, rounded
// down. Non-negative and never falling. Immutable after construction, so any number
// of threads may read one.
class LengthCurve {
 public:
  // A curve is refined until it has this many segments or one token a segment.
  static constexpr uint32_t kMaxSegments = 4096;

  // Zero everywhere; max_tokens() is 0 and values() empty.
  LengthCurve() = default;

  // values[i] is the value at i * 2^knot_shift tokens; ceil(max_tokens / 2^knot_shift)
  // + 1 of them, at least 0, never falling. knot_shift is 0 to 31. Create(0, 0, {}) is
  // the zero curve. INVALID_ARGUMENT otherwise.
  static absl::StatusOr<LengthCurve> Create(uint32_t max_tokens, int knot_shift,
                                            std::vector<int64_t> values);

  // Evaluates `value` at every knot of the finest curve allowed for max_tokens (at
  // least 1), in rising order; the last knot may exceed max_tokens by less than one
  // segment. Errors of `value` are passed on.
  static absl::StatusOr<LengthCurve> Sample(
      uint32_t max_tokens,
      absl::FunctionRef<absl::StatusOr<int64_t>(uint64_t tokens)> value);

  // The least shift that leaves at most kMaxSegments segments.
  static int KnotShiftFor(uint32_t max_tokens);

  // Beyond the last knot the slope of the last segment continues, up to the largest
  // int64_t.
  int64_t At(uint64_t tokens) const {
    const uint64_t segment = tokens >> knot_shift_;
    if (segment >= segments_) [[unlikely]]
      return Beyond(tokens);
    const int64_t low = values_[segment];
    const auto rise = static_cast<uint64_t>(values_[segment + 1] - low);
    // The position within the segment as a fraction of 2^64: the high word of the
    // product is the rise, rounded down, and can't overflow. Two shifts, since one by
    // 64 (knot_shift_ 0) is undefined.
    const uint64_t fraction = (tokens << 1) << (63 - knot_shift_);
    return low +
           static_cast<int64_t>(absl::Uint128High64(absl::uint128(rise) * fraction));
  }

  uint32_t max_tokens() const { return max_tokens_; }
  int knot_shift() const { return knot_shift_; }
  const std::vector<int64_t>& values() const { return values_; }

  friend bool operator==(const LengthCurve&, const LengthCurve&) = default;

 private:
  int64_t Beyond(uint64_t tokens) const;

  uint32_t max_tokens_ = 0;
  int knot_shift_ = 0;
  size_t segments_ = 0;  // values_.size() - 1, or 0
  std::vector<int64_t> values_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_COST_LENGTH_CURVE_H_
