#include "server/core/cost/cost_scales.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "server/core/cost/length_curve.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

absl::Status ScaleTooLarge(absl::string_view field, int64_t ppm) {
  return InvalidField(field, static_cast<double>(ppm) / CostScales::kOne,
                      "a scale at which the predicted workload of a step stays "
                      "within 2^62 ns");
}

absl::StatusOr<LengthCurve> RescaledCurve(absl::string_view field,
                                          const LengthCurve& curve, int64_t from,
                                          int64_t to) {
  std::vector<int64_t> values;
  values.reserve(curve.values().size());
  for (const int64_t value : curve.values()) {
    const absl::uint128 scaled =
        (absl::uint128(static_cast<uint64_t>(value)) * static_cast<uint64_t>(to) +
         static_cast<uint64_t>(from) / 2) /
        static_cast<uint64_t>(from);
    if (scaled > static_cast<uint64_t>(WorkloadTable::kMaxStepNs)) {
      return ScaleTooLarge(field, to);
    }
    values.push_back(static_cast<int64_t>(absl::Uint128Low64(scaled)));
  }
  return LengthCurve::Create(curve.max_tokens(), curve.knot_shift(), std::move(values));
}

}  // namespace

absl::StatusOr<int64_t> ReadScale(absl::string_view field, double value) {
  constexpr double kLeast = static_cast<double>(CostScales::kLeast) / CostScales::kOne;
  constexpr double kMost = static_cast<double>(CostScales::kMost) / CostScales::kOne;
  // Written so that NaN fails.
  if (!(value >= kLeast && value <= kMost)) {
    return InvalidField(field, value, absl::StrCat(kLeast, " to ", kMost));
  }
  return static_cast<int64_t>(std::llround(value * CostScales::kOne));
}

absl::Status Validate(const CostScales& scales) {
  absl::Status status = CheckRange("attention_ppm", scales.attention_ppm,
                                   CostScales::kLeast, CostScales::kMost);
  status.Update(CheckRange("linear_ppm", scales.linear_ppm, CostScales::kLeast,
                           CostScales::kMost));
  return status;
}

absl::StatusOr<WorkloadTable> Rescaled(const WorkloadTable& table,
                                       const CostScales& from, const CostScales& to,
                                       uint32_t micro_batches) {
  if (from == to) return table;
  auto attention = RescaledCurve("attention_scale", table.attention(),
                                 from.attention_ppm, to.attention_ppm);
  if (!attention.ok()) return attention.status();
  auto linear =
      RescaledCurve("linear_scale", table.linear(), from.linear_ppm, to.linear_ppm);
  if (!linear.ok()) return linear.status();
  auto scaled = WorkloadTable::Create(*std::move(attention), *std::move(linear));
  if (scaled.ok() && !scaled->StepFits(micro_batches)) {
    return to.attention_ppm > to.linear_ppm
               ? ScaleTooLarge("attention_scale", to.attention_ppm)
               : ScaleTooLarge("linear_scale", to.linear_ppm);
  }
  return scaled;
}

}  // namespace evenpack
