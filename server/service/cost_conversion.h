// evenpack.v1.Cost as the integer tables that a job decides from.
#ifndef EVENPACK_SERVER_SERVICE_COST_CONVERSION_H_
#define EVENPACK_SERVER_SERVICE_COST_CONVERSION_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "server/core/cost/cost_scales.h"
#include "server/core/cost/cost_spec.h"
#include "server/core/cost/kernel_latency_table.h"
#include "server/core/cost/model_spec.h"
#include "server/core/cost/workload_table.h"

namespace evenpack::v1 {
class Cost;
class KernelLatency;
class Model;
}  // namespace evenpack::v1

namespace evenpack {

// The shape that a cost is resolved for.
struct CostShape {
  uint32_t max_length = 1;
  uint32_t micro_batches = 1;
  uint32_t tensor_parallel = 1;
  uint32_t context_parallel = 1;
};

// The scales of a cost. INVALID_ARGUMENT naming "attention_scale" or "linear_scale".
absl::StatusOr<CostScales> ReadCostScales(const v1::Cost& cost);

// With its scales. INVALID_ARGUMENT naming the field, as "cost.analytic.model.name". A
// profile that the cost names is not looked up: ResolveProfile has been there before.
absl::StatusOr<WorkloadTable> ResolveWorkload(const v1::Cost& cost,
                                              const CostShape& shape);

// Of cost.kernel_latency or, where it is empty, of the kernel's tiles.
absl::StatusOr<KernelLatencyTable> ResolveKernelLatency(const v1::Cost& cost,
                                                        const CostShape& shape);

// The crossover of a quadratic cost that names none: that of 7B on H100.
inline constexpr uint64_t kDefaultCrossover = 47'000;

// The model and the hardware that the cost names, or of the default crossover 7B on
// H100. NOT_FOUND: it has neither. INVALID_ARGUMENT naming the field.
absl::StatusOr<AnalyticCost> ReadModelled(const v1::Cost& cost, const CostShape& shape);

// INVALID_ARGUMENT naming the field, as "slice_ns[3]".
absl::StatusOr<KernelLatencyTable> ReadKernelLatency(const v1::KernelLatency& from);

// By name or by shape, which is not validated. INVALID_ARGUMENT: there is no such name.
absl::StatusOr<ModelSpec> ReadModel(const v1::Model& model);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_COST_CONVERSION_H_
