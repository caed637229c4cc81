// The predicted time of a packed step, how near it is to a perfectly even one, and what
// lies between the two.
#ifndef EVENPACK_SERVER_CORE_PIPELINE_STEP_PREDICTION_H_
#define EVENPACK_SERVER_CORE_PIPELINE_STEP_PREDICTION_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "server/core/pipeline/micro_batch_cost.h"
#include "server/core/pipeline/pipeline_time.h"

namespace evenpack {

// Nanoseconds. step_ns = bound_ns + packing_ns + cp_sharding_ns + pipeline_ns +
// communication_ns, each the difference that it makes to level out what it names, in
// the order: attention over CP ranks, exchanges over micro-batches, all else over
// micro-batches; what is then left is the pipeline's own.
struct StepPrediction {
  int64_t step_ns = 0;
  // The perfect-balance bound: the step's own computing and exchanges spread evenly
  // over all micro-batches, CP ranks and pipeline stages, and no pipeline bubble but
  // that of (M * virtual stages + PP - 1) equal passes each way. What better packing,
  // sharding and placement could reach at most. Only an order that shortens the
  // pipeline's ends, PP - 1 forward passes of the first micro-batch and as many
  // backward passes of the last, brings a step below it, by as much.
  int64_t bound_ns = 0;

  // Micro-batches of unequal work. It may come out below zero by a little, where they
  // stand in such an order.
  int64_t packing_ns = 0;
  // CP ranks of unequal attention, for the slowest of which the others wait.
  int64_t cp_sharding_ns = 0;
  // Stages made unequal by the loss, sends between them, and the schedule's own waits.
  int64_t pipeline_ns = 0;
  // Exchanges of unequal micro-batches.
  int64_t communication_ns = 0;

  // Of step_ns, what the mean rank spends in collectives that nothing hides.
  int64_t exposed_communication_ns = 0;
  // Share of step_ns in which the mean rank neither computes nor exchanges, 0 to 1. A
  // rank that waits for a slower one of its CP group counts as computing.
  double bubble = 0;

  // Max over mean of the forward pass over the step's micro-batches: the imbalance
  // degree, with the slowest CP rank's attention.
  double pp_imbalance = 1;
  // Max over mean of attention over CP ranks, weighted by attention.
  double cp_imbalance = 1;
  // Max over mean of what GPUs compute in the whole step, over DP and CP ranks: how
  // much longer the slowest GPU computes (WLB-LLM's figure 1).
  double gpu_imbalance = 1;
  // Likewise of attention alone, as WLB-LLM's figure 4 adds it up.
  double gpu_attention_imbalance = 1;
  uint64_t longest_micro_batch = 0;
  // Most tokens of PP consecutive micro-batches of a data-parallel rank: as many the
  // first stage keeps activations of at once.
  uint64_t in_flight_tokens = 0;
};

// Checks what PredictStep asks: `micro_batches` is 1 to 65,536, a multiple of
// data_parallel, and those of a rank are a valid PipelineShape. INVALID_ARGUMENT naming
// the field. `cluster` is valid.
absl::Status ValidateStepShape(const ClusterSpec& cluster, uint32_t micro_batches,
                               uint32_t virtual_pipeline_group);

// What PredictStep lets a micro-batch's passes take, before ranks wait for each other;
// `cost` is of `costs`.
PassTime PassTimeOf(const ClusterCosts& costs, const MicroBatchCost& cost);

// `micro_batches`: N of them, DP rank r holding r*M to r*M+M-1; their costs are those
// of `costs`. The shape has passed ValidateStepShape.
StepPrediction PredictStep(const ClusterCosts& costs,
                           std::span<const MicroBatchCost> micro_batches,
                           uint32_t virtual_pipeline_group);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PIPELINE_STEP_PREDICTION_H_
