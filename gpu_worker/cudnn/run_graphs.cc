#include "gpu_worker/cudnn/run_graphs.h"

#include <utility>

namespace evenpack::worker {
namespace {

absl::Status RunEach(const PlannedRuns& of, cuda::Stream stream) {
  absl::Status status;
  for (const PlannedRun& run : of.runs) {
    status = run.plan->Run(run.tables, run.tensors, of.workspace, stream);
    if (!status.ok()) break;
  }
  return status;
}

}  // namespace

absl::Status RunGraphs::Run(const PlannedRuns& runs, cuda::Stream stream) {
  if (limits_.graphs == 0) return RunEach(runs, stream);
  // A plan's first run may load what it needs, which no capture may see.
  Known* const known = Find(runs);
  if (known == nullptr) return RunEach(runs, stream);
  if (known->graph == nullptr && !known->was_tried && graphs_ < limits_.graphs) {
    MakeGraph(runs, *known);
  }
  return known->graph == nullptr ? RunEach(runs, stream) : known->graph->Launch(stream);
}

RunGraphs::Known* RunGraphs::Find(const PlannedRuns& runs) {
  const auto found = known_.find(runs);
  if (found != known_.end()) {
    order_.splice(order_.begin(), order_, found->second.since);
    return &found->second;
  }
  if (known_.size() == limits_.calls) {
    const auto last = known_.find(*order_.back());
    if (last->second.graph != nullptr) --graphs_;
    order_.pop_back();
    known_.erase(last);
  }
  const auto added = known_.try_emplace(runs).first;
  order_.push_front(&added->first);
  added->second.since = order_.begin();
  return nullptr;
}

absl::StatusOr<std::unique_ptr<CudaGraph>> RunGraphs::Captured(
    const PlannedRuns& runs) {
  if (captured_ == nullptr) {
    absl::StatusOr<std::unique_ptr<CudaStream>> made =
        CudaStream::Create(context_, CudaStream::Priority::kLeast);
    if (!made.ok()) return made.status();
    captured_ = *std::move(made);
  }
  cuda::Stream stream = captured_->handle();
  return CudaGraph::Capture(
      context_, stream, [&] { return RunEach(runs, stream); }, limits_.filled);
}

void RunGraphs::MakeGraph(const PlannedRuns& runs, Known& known) {
  known.was_tried = true;
  absl::StatusOr<std::unique_ptr<CudaGraph>> graph = Captured(runs);
  if (!graph.ok()) return;
  known.graph = *std::move(graph);
  ++graphs_;
}

}  // namespace evenpack::worker
