// What a stream is given again and again, as one.
#ifndef EVENPACK_GPU_WORKER_CUDA_CUDA_GRAPH_H_
#define EVENPACK_GPU_WORKER_CUDA_CUDA_GRAPH_H_

#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/cuda/cuda_context.h"

namespace evenpack::worker {

// A launch takes the host little longer than that of a kernel, 3 microseconds where it
// has 7 and 12 where it has 56; a driver lets the host be some 28 ahead. Not
// thread-safe.
class CudaGraph {
 public:
  // Of what `give` gives the stream, which has nothing else to do; none of it is done.
  // Whatever comes after a kernel in the stream begins when that is complete, also what
  // a stream would begin before (programmatic dependent launch).
  // `filled`: not null: four bytes of the device that are set to 0 between any two that
  // follow each other, to tell by where an order between them is not enough (ADR 90).
  // Errors of `give`. INTERNAL: the stream was given what can't be captured.
  // UNIMPLEMENTED: it was given what is neither a kernel nor memory to fill, as a copy,
  // which would read the host's memory anew with each launch; or the driver is older
  // than kOldestDriverOfGraphs.
  static absl::StatusOr<std::unique_ptr<CudaGraph>> Capture(
      std::shared_ptr<const CudaContext> context, cuda::Stream stream,
      absl::FunctionRef<absl::Status()> give, void* filled = nullptr);
  // What was launched is still done.
  ~CudaGraph();
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  // Gives it to the stream, after whatever that has been given.
  absl::Status Launch(cuda::Stream stream);

 private:
  CudaGraph(std::shared_ptr<const CudaContext> context, cuda::ExecutableGraph handle);

  const std::shared_ptr<const CudaContext> context_;
  cuda::ExecutableGraph handle_;
};

// FAILED_PRECONDITION: what the trainer's stream is given now becomes part of a graph,
// which would have the addresses of one call, and none of what the host does.
absl::Status CheckIsNotCaptured(const CudaContext& context, cuda::Stream stream);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDA_CUDA_GRAPH_H_
