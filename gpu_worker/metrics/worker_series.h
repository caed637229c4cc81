// What a worker's /metrics answers.
#ifndef EVENPACK_GPU_WORKER_METRICS_WORKER_SERIES_H_
#define EVENPACK_GPU_WORKER_METRICS_WORKER_SERIES_H_

#include <cstdint>
#include <string>

#include "gpu_worker/sidecar/sidecar.h"
#include "server/metrics/process_figures.h"

namespace evenpack::worker {

struct WorkerFigures {
  std::string version;
  SidecarStatus sidecar;
  // What arena and passes may take together.
  uint64_t memory_bytes = 0;
  ProcessFigures process;
};

// In Prometheus' text format, version 0.0.4, by worker_metric_names.h and
// process_metric_names.h. Without a session nothing is prepared, and no group is
// connected.
std::string WorkerMetricsText(const WorkerFigures& figures);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_METRICS_WORKER_SERIES_H_
