#include "gpu_worker/cuda/cuda_graph.h"

#include <utility>

namespace evenpack::worker {

CudaGraph::CudaGraph(std::shared_ptr<const CudaContext> context,
                     cuda::ExecutableGraph handle)
    : context_(std::move(context)), handle_(handle) {}

CudaGraph::~CudaGraph() {
  const CurrentContext current(*context_);
  context_->functions().cuGraphExecDestroy(handle_);
}

absl::StatusOr<std::unique_ptr<CudaGraph>> CudaGraph::Capture(
    std::shared_ptr<const CudaContext> context, cuda::Stream stream,
    absl::FunctionRef<absl::Status()> give) {
  const CurrentContext current(*context);
  const cuda::Functions& call = context->functions();
  // Relaxed: other threads, and `give` itself, may ask the driver for what they like.
  absl::Status status =
      context->Check(call.cuStreamBeginCapture_v2(stream, cuda::kCaptureRelaxed),
                     "to capture a stream");
  if (!status.ok()) return status;
  status = give();
  cuda::Graph graph = nullptr;
  status.Update(
      context->Check(call.cuStreamEndCapture(stream, &graph), "to end a capture"));
  cuda::ExecutableGraph handle = nullptr;
  if (status.ok()) {
    status = context->Check(call.cuGraphInstantiateWithFlags(&handle, graph, 0),
                            "to make a graph");
  }
  if (graph != nullptr) call.cuGraphDestroy(graph);
  if (!status.ok()) return status;
  return std::unique_ptr<CudaGraph>(new CudaGraph(std::move(context), handle));
}

absl::Status CudaGraph::Launch(cuda::Stream stream) {
  const CurrentContext current(*context_);
  return context_->Check(context_->functions().cuGraphLaunch(handle_, stream),
                         "to launch a graph");
}

absl::Status CheckIsNotCaptured(const CudaContext& context, cuda::Stream stream) {
  const CurrentContext current(context);
  int capturing = cuda::kNotCapturing;
  absl::Status status =
      context.Check(context.functions().cuStreamIsCapturing(stream, &capturing),
                    "to tell whether a stream is captured");
  if (!status.ok() || capturing == cuda::kNotCapturing) return status;
  return absl::FailedPreconditionError(
      "the trainer's stream is being captured for a CUDA graph; accepted: one that is "
      "not");
}

}  // namespace evenpack::worker
