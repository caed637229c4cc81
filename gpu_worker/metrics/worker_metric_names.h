// Every metric of a worker that serves a trainer: its name, type, labels and help text,
// as server/metrics/metric_names.h has the server's.
#ifndef EVENPACK_GPU_WORKER_METRICS_WORKER_METRIC_NAMES_H_
#define EVENPACK_GPU_WORKER_METRICS_WORKER_METRIC_NAMES_H_

#include <cstdint>
#include <span>

#include "server/metrics/metric_definition.h"

namespace evenpack::worker {

enum class WorkerMetric : uint8_t {
  kBuildInfo,
  kSessionInfo,
  kSteps,
  kMicroBatches,
  kForwardSeconds,
  kBackwardSeconds,
  kWaitedSeconds,
  kPreparedSteps,
  kGroupEpoch,
  kGroupConnected,
  kGroupLosses,
  kMemoryUsed,
  kMemoryLimit,
  kEnd,  // not one: how many there are
};

namespace worker_metric_names_internal {

using metric_table::Counter;
using metric_table::Gauge;

inline constexpr MetricDefinition kTable[] = {
    Gauge(WorkerMetric::kBuildInfo, "evenpack_worker_build_info", {"version"},
          "Always 1; its label says which version runs."),
    Gauge(WorkerMetric::kSessionInfo, "evenpack_worker_session_info",
          {"job", "dp_rank", "cp_rank"}, "1 while a session of that rank is open."),
    Counter(WorkerMetric::kSteps, "evenpack_worker_steps_total", {},
            "Steps executed that no rank will do again."),
    Counter(WorkerMetric::kMicroBatches, "evenpack_worker_micro_batches_total", {},
            "Micro-batches executed in these steps."),
    Counter(WorkerMetric::kForwardSeconds, "evenpack_worker_forward_seconds_total", {},
            "Time of attention's forward passes in these steps, waits apart."),
    Counter(WorkerMetric::kBackwardSeconds, "evenpack_worker_backward_seconds_total",
            {}, "Time of attention's backward passes in these steps, waits apart."),
    Counter(WorkerMetric::kWaitedSeconds, "evenpack_worker_waited_seconds_total", {},
            "Time waited in these steps for what peers send."),
    Gauge(WorkerMetric::kPreparedSteps, "evenpack_worker_prepared_steps", {},
          "Steps prepared that the trainer has not begun."),
    Gauge(WorkerMetric::kGroupEpoch, "evenpack_worker_group_epoch", {},
          "How often the group was told to connect."),
    Gauge(WorkerMetric::kGroupConnected, "evenpack_worker_group_connected", {},
          "1 while all ranks of the group are connected."),
    Counter(WorkerMetric::kGroupLosses, "evenpack_worker_group_losses_total", {},
            "Times that a group which was connected was lost."),
    Gauge(WorkerMetric::kMemoryUsed, "evenpack_worker_memory_used_bytes", {},
          "Memory that the trainer's arena takes of the limit."),
    Gauge(WorkerMetric::kMemoryLimit, "evenpack_worker_memory_limit_bytes", {},
          "What the arena and the passes over it may take together."),
};
static_assert(metric_table::IsComplete<WorkerMetric>(kTable),
              "a row for each WorkerMetric, in order");

inline constexpr MetricGroup kGroups[] = {
    metric_table::Group("Worker", WorkerMetric::kBuildInfo)};

}  // namespace worker_metric_names_internal

// In the order of the enumeration, which is that of /metrics.
inline constexpr std::span<const MetricDefinition> kWorkerMetrics(
    worker_metric_names_internal::kTable);
inline constexpr std::span<const MetricGroup> kWorkerMetricGroups(
    worker_metric_names_internal::kGroups);

constexpr std::span<const MetricDefinition> DefinitionsOf(WorkerMetric /*any*/) {
  return kWorkerMetrics;
}

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_METRICS_WORKER_METRIC_NAMES_H_
