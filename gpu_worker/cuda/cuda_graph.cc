#include "gpu_worker/cuda/cuda_graph.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace evenpack::worker {
namespace {

absl::Status CheckNodes(const CudaContext& context, cuda::Graph graph) {
  const cuda::Functions& call = context.functions();
  size_t count = 0;
  absl::Status status = context.Check(call.cuGraphGetNodes(graph, nullptr, &count),
                                      "to count a graph's nodes");
  std::vector<cuda::GraphNode> nodes(count);
  if (status.ok() && count != 0) {
    status = context.Check(call.cuGraphGetNodes(graph, nodes.data(), &count),
                           "to list a graph's nodes");
  }
  constexpr int kTaken[] = {cuda::kKernelNode, cuda::kFillNode, cuda::kEmptyNode};
  for (cuda::GraphNode node : nodes) {
    int type = 0;
    if (status.ok()) {
      status = context.Check(call.cuGraphNodeGetType(node, &type), "to tell a node");
    }
    if (!status.ok()) return status;
    if (std::find(std::begin(kTaken), std::end(kTaken), type) == std::end(kTaken)) {
      return absl::UnimplementedError(
          absl::StrCat("a graph with a node of type ", type, " (CUgraphNodeType)"));
    }
  }
  return status;
}

bool IsWhole(const cuda::GraphEdge& edge) {
  return edge.from_port == 0 && edge.to_port == 0 && edge.type == 0;
}

// Behind the node, in whose place it comes.
absl::Status AddFill(const CudaContext& context, cuda::Graph graph, void* filled,
                     cuda::GraphNode& node) {
  cuda::FillParameters fill;
  fill.to = reinterpret_cast<cuda::DevicePointer>(filled);
  fill.width = 4;
  cuda::GraphNode after = node;
  return context.Check(context.functions().cuGraphAddMemsetNode(
                           &node, graph, &after, 1, &fill, context.handle()),
                       "to add a node to a graph");
}

// A stream holds what follows a kernel that began early back until all before it is
// complete. The nodes of a graph await only those that they have an edge from: of a
// kernel that began early and ended first, not what that began before.
absl::Status MakeEdgesWhole(const CudaContext& context, cuda::Graph graph,
                            void* filled) {
  const cuda::Functions& call = context.functions();
  size_t count = 0;
  absl::Status status =
      context.Check(call.cuGraphGetEdges_v2(graph, nullptr, nullptr, nullptr, &count),
                    "to count a graph's edges");
  if (!status.ok() || count == 0) return status;
  std::vector<cuda::GraphNode> from(count);
  std::vector<cuda::GraphNode> to(count);
  std::vector<cuda::GraphEdge> edges(count);
  status = context.Check(
      call.cuGraphGetEdges_v2(graph, from.data(), to.data(), edges.data(), &count),
      "to list a graph's edges");
  for (size_t i = 0; status.ok() && i < count; ++i) {
    if (IsWhole(edges[i]) && filled == nullptr) continue;
    status = context.Check(
        call.cuGraphRemoveDependencies_v2(graph, &from[i], &to[i], &edges[i], 1),
        "to take an edge from a graph");
    cuda::GraphNode before = from[i];
    if (status.ok() && filled != nullptr) {
      status = AddFill(context, graph, filled, before);
    }
    if (!status.ok()) break;
    const cuda::GraphEdge whole;
    status =
        context.Check(call.cuGraphAddDependencies_v2(graph, &before, &to[i], &whole, 1),
                      "to add an edge to a graph");
  }
  return status;
}

}  // namespace

CudaGraph::CudaGraph(std::shared_ptr<const CudaContext> context,
                     cuda::ExecutableGraph handle)
    : context_(std::move(context)), handle_(handle) {}

CudaGraph::~CudaGraph() {
  const CurrentContext current(*context_);
  context_->functions().cuGraphExecDestroy(handle_);
}

absl::StatusOr<std::unique_ptr<CudaGraph>> CudaGraph::Capture(
    std::shared_ptr<const CudaContext> context, cuda::Stream stream,
    absl::FunctionRef<absl::Status()> give, void* filled) {
  const CurrentContext current(*context);
  const cuda::Functions& call = context->functions();
  if (call.cuGraphGetEdges_v2 == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("a graph's edges with this driver; accepted: one for version ",
                     kOldestDriverOfGraphs, " of CUDA and later"));
  }
  // Relaxed: other threads, and `give` itself, may ask the driver for what they like.
  absl::Status status =
      context->Check(call.cuStreamBeginCapture_v2(stream, cuda::kCaptureRelaxed),
                     "to capture a stream");
  if (!status.ok()) return status;
  status = give();
  cuda::Graph graph = nullptr;
  status.Update(
      context->Check(call.cuStreamEndCapture(stream, &graph), "to end a capture"));
  if (status.ok()) status = CheckNodes(*context, graph);
  if (status.ok()) status = MakeEdgesWhole(*context, graph, filled);
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
