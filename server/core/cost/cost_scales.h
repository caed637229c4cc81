// What measurement says of a cost model: by how much its two parts are off. A job's
// costs are the model's, each part times its scale.
#ifndef EVENPACK_SERVER_CORE_COST_COST_SCALES_H_
#define EVENPACK_SERVER_CORE_COST_COST_SCALES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/cost/workload_table.h"

namespace evenpack {

// Millionths, so that a scale is the same number wherever it is written down.
struct CostScales {
  static constexpr int64_t kOne = 1'000'000;
  static constexpr int64_t kLeast = kOne / 100;
  static constexpr int64_t kMost = kOne * 100;

  // Each kLeast to kMost.
  int64_t attention_ppm = kOne;
  int64_t linear_ppm = kOne;

  friend bool operator==(const CostScales&, const CostScales&) = default;
};

// The scale `value` times: rounded to the nearest millionth. INVALID_ARGUMENT naming
// `field` where that is not from 0.01 to 100, NaN included.
absl::StatusOr<int64_t> ReadScale(absl::string_view field, double value);

// INVALID_ARGUMENT naming attention_ppm or linear_ppm.
absl::Status Validate(const CostScales& scales);

// `table`, which has the scales `from`, with the scales `to`: each knot times the
// quotient, rounded to the nearest nanosecond. Both are valid. INVALID_ARGUMENT where a
// step of so many micro-batches could then exceed WorkloadTable::kMaxStepNs.
absl::StatusOr<WorkloadTable> Rescaled(const WorkloadTable& table,
                                       const CostScales& from, const CostScales& to,
                                       uint32_t micro_batches);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_COST_COST_SCALES_H_
