// Runs of plans that come again, as graphs.
#ifndef EVENPACK_GPU_WORKER_CUDNN_RUN_GRAPHS_H_
#define EVENPACK_GPU_WORKER_CUDNN_RUN_GRAPHS_H_

#include <cstddef>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/cuda/cuda_graph.h"
#include "gpu_worker/cuda/cuda_stream.h"
#include "gpu_worker/cudnn/attention_plan.h"

namespace evenpack::worker {

struct PlannedRun {
  AttentionPlan* plan = nullptr;
  PlanTables tables;
  PlanTensors tensors;

  friend bool operator==(const PlannedRun&, const PlannedRun&) = default;
  template <typename H>
  friend H AbslHashValue(H hash, const PlannedRun& run) {
    return H::combine(std::move(hash), run.plan, run.tables, run.tensors);
  }
};

// One after another, in memory that has room for each.
struct PlannedRuns {
  std::vector<PlannedRun> runs;
  void* workspace = nullptr;

  friend bool operator==(const PlannedRuns&, const PlannedRuns&) = default;
  template <typename H>
  friend H AbslHashValue(H hash, const PlannedRuns& of) {
    return H::combine(std::move(hash), of.runs, of.workspace);
  }
};

// A run of a plan takes the host some 15 microseconds forward and 30 backward, since
// cuDNN sets up each; a graph of one 3, of eight 12. Layer after layer computes
// with tensors of its own, which from one micro-batch to the next often lie where they
// lay. So what comes a second time is made a graph, by the addresses of all it reads
// and writes, whatever is there by then.
//
// None are made unless they are asked for: on an H200 not all were right
// (docs/adr/0080-graphs-of-runs-wait.md).
//
// The plans must outlive it. Not thread-safe.
class RunGraphs {
 public:
  struct Limits {
    // Some 125 KB of the device's memory each, or 250 of many runs.
    size_t graphs = 0;
    // That are remembered: of those that didn't come again since so many others came,
    // the graphs make room.
    size_t calls = 1024;
    // As CudaGraph::Capture has it, for checks on a device.
    void* filled = nullptr;
  };

  RunGraphs(std::shared_ptr<const CudaContext> context, const Limits& limits)
      : context_(std::move(context)), limits_(limits) {}

  // In the order of the stream. Errors of the plans and of the device; what can't be
  // made a graph is run as it is.
  absl::Status Run(const PlannedRuns& runs, cuda::Stream stream);

  // How many there are.
  size_t graphs() const { return graphs_; }

 private:
  struct Known {
    // Null: it came once, or can't be made one.
    std::unique_ptr<CudaGraph> graph;
    bool was_tried = false;
    std::list<const PlannedRuns*>::iterator since;
  };

  // What has come before; null, and remembered from now on: it has not.
  Known* Find(const PlannedRuns& runs);
  absl::StatusOr<std::unique_ptr<CudaGraph>> Captured(const PlannedRuns& runs);
  void MakeGraph(const PlannedRuns& runs, Known& known);

  const std::shared_ptr<const CudaContext> context_;
  const Limits limits_;
  // For nothing but captures; null before the first.
  std::unique_ptr<CudaStream> captured_;
  absl::node_hash_map<PlannedRuns, Known> known_;
  // Keys of known_, the last one that came first.
  std::list<const PlannedRuns*> order_;
  size_t graphs_ = 0;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDNN_RUN_GRAPHS_H_
