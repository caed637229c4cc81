// The workload models that a job can ask for, and how each becomes the integer table
// that the job keeps. docs/cost-models.md has the formulas in one place.
#ifndef EVENPACK_SERVER_CORE_COST_COST_SPEC_H_
#define EVENPACK_SERVER_CORE_COST_COST_SPEC_H_

#include <cstdint>
#include <variant>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/cost/hardware_spec.h"
#include "server/core/cost/kernel_latency_table.h"
#include "server/core/cost/model_spec.h"
#include "server/core/cost/workload_table.h"

namespace evenpack {

// W_a(d) = d^2 / crossover_tokens * ns_per_token, W_l(t) = t * ns_per_token. Exact
// integer arithmetic at the knots, rounded to the nearest nanosecond.
struct QuadraticCost {
  // The length at which attention costs as much as everything else: 47,000 for the
  // 7B model of WLB-LLM. At least 1.
  uint64_t crossover_tokens = 0;
  // At least 1. Balance depends on crossover_tokens alone.
  uint64_t ns_per_token = 1000;

  friend bool operator==(const QuadraticCost&, const QuadraticCost&) = default;
};

// Operations / (peak * achieved fraction * tensor_parallel * context_parallel): what
// one GPU of the group takes, pipeline stages taken together.
struct AnalyticCost {
  ModelSpec model;
  HardwareSpec hardware;
  uint32_t tensor_parallel = 1;   // 1 to 1,024
  uint32_t context_parallel = 1;  // 1 to 1,024

  friend bool operator==(const AnalyticCost&, const AnalyticCost&) = default;
};

// W_l as AnalyticCost has it; W_a(d) = layers * latency of the slice (d, d) /
// context_parallel from the table, which must be that of one GPU of a
// linear.tensor_parallel group. Sliding-window layers count in proportion to the pairs
// they attend. W_a is made never falling, so that noise in a measurement can't price a
// longer document lower.
struct ProfiledCost {
  AnalyticCost linear;
  KernelLatencyTable attention;  // not empty

  friend bool operator==(const ProfiledCost&, const ProfiledCost&) = default;
};

using CostSpec = std::variant<QuadraticCost, AnalyticCost, ProfiledCost>;

// INVALID_ARGUMENT naming the first bad field, its value and what is accepted.
absl::Status Validate(const CostSpec& cost);

// The table for documents and micro-batches of up to max_tokens (1 to 2^31 - 1) in
// steps of micro_batches (at least 1). INVALID_ARGUMENT also where the predicted
// workload of a step could exceed 2^62 ns, however its tokens fall into documents: with
// a table that this function returns, no sum over a step overflows.
absl::StatusOr<WorkloadTable> ResolveWorkload(const CostSpec& cost, uint32_t max_tokens,
                                              uint32_t micro_batches);

// Likewise of any two functions of a number of tokens, in nanoseconds: at least 0 and
// never falling. They are asked for rising numbers, from 0.
absl::StatusOr<WorkloadTable> TabulateWorkload(
    uint32_t max_tokens, uint32_t micro_batches,
    absl::FunctionRef<double(uint64_t tokens)> attention_ns,
    absl::FunctionRef<double(uint64_t tokens)> linear_ns);

// The length at which a document's attention takes as long as its linear part, all
// layers counted as full attention. `cost` must be valid. Independent of tensor and
// context parallelism.
double CrossoverTokens(const AnalyticCost& cost);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_COST_COST_SPEC_H_
