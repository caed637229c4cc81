// The double's graphs: what a stream was given while it was captured.
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "gpu_worker/cuda/cuda_abi.h"
#include "tests/gpu_worker/cuda/fake_calls.h"

namespace cuda = evenpack::worker::cuda;

namespace evenpack::worker::cuda {

using Work = std::vector<std::function<void()>>;

struct GraphObject {
  std::shared_ptr<const Work> work;
};
struct ExecutableGraphObject {
  // A launch shares it, since the graph may be destroyed meanwhile.
  std::shared_ptr<const Work> work;
};

}  // namespace evenpack::worker::cuda

using cuda::Result;
using evenpack::testing::Need;
using evenpack::testing::NeedHandle;
using evenpack::testing::NeedStream;
using evenpack::testing::State;

extern "C" {

Result cuStreamBeginCapture_v2(cuda::Stream stream, int mode) {
  const Need need = NeedStream(stream, "cuStreamBeginCapture");
  if (!need.IsMet()) return need.result;
  return mode == cuda::kCaptureRelaxed && stream->BeginCapture() ? cuda::kSuccess
                                                                 : cuda::kInvalidValue;
}

Result cuStreamEndCapture(cuda::Stream stream, cuda::Graph* graph) {
  const Need need = NeedStream(stream, "cuStreamEndCapture");
  if (!need.IsMet()) return need.result;
  auto work = stream->EndCapture();
  if (!work.has_value()) return cuda::kInvalidValue;
  *graph = new cuda::GraphObject{std::make_shared<const cuda::Work>(*std::move(work))};
  State().Add("graph", *graph);
  return cuda::kSuccess;
}

Result cuStreamIsCapturing(cuda::Stream stream, int* status) {
  const Need need = NeedStream(stream, "cuStreamIsCapturing");
  if (need.IsMet()) *status = stream->IsCaptured() ? 1 : cuda::kNotCapturing;
  return need.result;
}

Result cuGraphInstantiateWithFlags(cuda::ExecutableGraph* executable, cuda::Graph graph,
                                   uint64_t) {
  const Need need = NeedHandle("graph", graph, "cuGraphInstantiate");
  if (!need.IsMet()) return need.result;
  *executable = new cuda::ExecutableGraphObject{graph->work};
  State().Add("executable graph", *executable);
  return cuda::kSuccess;
}

Result cuGraphDestroy(cuda::Graph graph) {
  if (!State().Remove("graph", graph, "cuGraphDestroy")) {
    return cuda::kInvalidHandle;
  }
  delete graph;
  return cuda::kSuccess;
}

Result cuGraphExecDestroy(cuda::ExecutableGraph executable) {
  if (!State().Remove("executable graph", executable, "cuGraphExecDestroy")) {
    return cuda::kInvalidHandle;
  }
  delete executable;
  return cuda::kSuccess;
}

Result cuGraphLaunch(cuda::ExecutableGraph executable, cuda::Stream stream) {
  Need need = NeedStream(stream, "cuGraphLaunch");
  if (need.IsMet()) need = NeedHandle("executable graph", executable, "cuGraphLaunch");
  if (!need.IsMet()) return need.result;
  stream->Put([work = executable->work] {
    for (const std::function<void()>& each : *work) each();
  });
  return cuda::kSuccess;
}

}  // extern "C"
