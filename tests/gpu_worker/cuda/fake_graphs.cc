// The double's graphs: what a stream was given while it was captured. What of them no
// edge puts in order is done last first.
#include <algorithm>
#include <cstring>
#include <functional>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "gpu_worker/cuda/cuda_abi.h"
#include "tests/gpu_worker/cuda/fake_calls.h"
#include "tests/gpu_worker/cuda/fake_captures.h"

namespace cuda = evenpack::worker::cuda;

namespace evenpack::worker::cuda {

using Work = std::vector<std::function<void()>>;

struct GraphNodeObject {
  evenpack::testing::FakeWork work;
};
struct GraphObject {
  struct Edge {
    GraphNode from = nullptr;
    GraphNode to = nullptr;
    GraphEdge data;
  };
  // In the order in which they were captured.
  std::vector<std::unique_ptr<GraphNodeObject>> nodes;
  std::list<Edge> edges;
};
struct ExecutableGraphObject {
  // A launch shares it, since the graph may be destroyed meanwhile.
  std::shared_ptr<const Work> work;
};

}  // namespace evenpack::worker::cuda

using cuda::Result;
using evenpack::testing::FakeCaptures;
using evenpack::testing::FakeWork;
using evenpack::testing::kCaptureInvalidated;
using evenpack::testing::Need;
using evenpack::testing::NeedHandle;
using evenpack::testing::NeedStream;
using evenpack::testing::State;

namespace {

// CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC and CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC.
constexpr cuda::GraphEdge kEarly = {.from_port = 1, .type = 1};

bool AreSame(const cuda::GraphEdge& a, const cuda::GraphEdge& b) {
  return a.from_port == b.from_port && a.to_port == b.to_port && a.type == b.type;
}

// Each awaits the one before it alone, or doesn't where it is early.
cuda::Graph GraphOf(std::vector<FakeWork> works) {
  auto* const graph = new cuda::GraphObject;
  for (FakeWork& work : works) {
    const bool is_early = work.is_early;
    graph->nodes.push_back(std::make_unique<cuda::GraphNodeObject>(
        cuda::GraphNodeObject{std::move(work)}));
    if (graph->nodes.size() == 1) continue;
    graph->edges.push_back({(graph->nodes.end() - 2)->get(), graph->nodes.back().get(),
                            is_early ? kEarly : cuda::GraphEdge{}});
  }
  return graph;
}

bool IsAwaited(const cuda::GraphObject& graph, const cuda::GraphNodeObject& by,
               const std::vector<cuda::GraphNode>& done) {
  return std::all_of(
      graph.edges.begin(), graph.edges.end(), [&](const cuda::GraphObject::Edge& edge) {
        return edge.to != &by || !AreSame(edge.data, {}) ||
               std::find(done.begin(), done.end(), edge.from) != done.end();
      });
}

cuda::Work InOrder(const cuda::GraphObject& graph) {
  cuda::Work work;
  std::vector<cuda::GraphNode> done;
  while (done.size() < graph.nodes.size()) {
    const auto next =
        std::find_if(graph.nodes.rbegin(), graph.nodes.rend(), [&](const auto& node) {
          return std::find(done.begin(), done.end(), node.get()) == done.end() &&
                 IsAwaited(graph, *node, done);
        });
    work.push_back((*next)->work.run);
    done.push_back(next->get());
  }
  return work;
}

}  // namespace

extern "C" {

Result cuStreamBeginCapture_v2(cuda::Stream stream, int mode) {
  const Need need = NeedStream(stream, "cuStreamBeginCapture");
  if (!need.IsMet()) return need.result;
  const bool is_global = mode == cuda::kCaptureGlobal;
  if (!is_global && mode != cuda::kCaptureRelaxed) return cuda::kInvalidValue;
  if (!stream->BeginCapture()) return cuda::kInvalidValue;
  if (is_global) FakeCaptures::Get().Begin();
  return cuda::kSuccess;
}

Result cuThreadExchangeStreamCaptureMode(int* mode) {
  std::swap(*mode, FakeCaptures::ThreadsMode());
  return cuda::kSuccess;
}

Result cuStreamEndCapture(cuda::Stream stream, cuda::Graph* graph) {
  const Need need = NeedStream(stream, "cuStreamEndCapture");
  if (!need.IsMet()) return need.result;
  auto work = stream->EndCapture();
  if (!work.has_value()) return cuda::kInvalidValue;
  if (FakeCaptures::Get().EndIsInvalid()) return kCaptureInvalidated;
  *graph = GraphOf(*std::move(work));
  State().Add("graph", *graph);
  return cuda::kSuccess;
}

Result cuStreamIsCapturing(cuda::Stream stream, int* status) {
  const Need need = NeedStream(stream, "cuStreamIsCapturing");
  if (need.IsMet()) *status = stream->IsCaptured() ? 1 : cuda::kNotCapturing;
  return need.result;
}

Result cuGraphGetNodes(cuda::Graph graph, cuda::GraphNode* nodes, size_t* count) {
  const Need need = NeedHandle("graph", graph, "cuGraphGetNodes");
  if (!need.IsMet()) return need.result;
  if (nodes == nullptr) {
    *count = graph->nodes.size();
    return cuda::kSuccess;
  }
  *count = std::min(*count, graph->nodes.size());
  for (size_t i = 0; i < *count; ++i) nodes[i] = graph->nodes[i].get();
  return cuda::kSuccess;
}

Result cuGraphNodeGetType(cuda::GraphNode node, int* type) {
  *type = node->work.node_type;
  return cuda::kSuccess;
}

Result cuGraphGetEdges_v2(cuda::Graph graph, cuda::GraphNode* from, cuda::GraphNode* to,
                          cuda::GraphEdge* edges, size_t* count) {
  const Need need = NeedHandle("graph", graph, "cuGraphGetEdges");
  if (!need.IsMet()) return need.result;
  if (from == nullptr) {
    *count = graph->edges.size();
    return cuda::kSuccess;
  }
  size_t i = 0;
  for (const cuda::GraphObject::Edge& edge : graph->edges) {
    if (i == *count) break;
    from[i] = edge.from;
    to[i] = edge.to;
    edges[i] = edge.data;
    ++i;
  }
  *count = i;
  return cuda::kSuccess;
}

Result cuGraphAddDependencies_v2(cuda::Graph graph, const cuda::GraphNode* from,
                                 const cuda::GraphNode* to,
                                 const cuda::GraphEdge* edges, size_t count) {
  const Need need = NeedHandle("graph", graph, "cuGraphAddDependencies");
  if (!need.IsMet()) return need.result;
  for (size_t i = 0; i < count; ++i) graph->edges.push_back({from[i], to[i], edges[i]});
  return cuda::kSuccess;
}

Result cuGraphRemoveDependencies_v2(cuda::Graph graph, const cuda::GraphNode* from,
                                    const cuda::GraphNode* to,
                                    const cuda::GraphEdge* edges, size_t count) {
  const Need need = NeedHandle("graph", graph, "cuGraphRemoveDependencies");
  if (!need.IsMet()) return need.result;
  for (size_t i = 0; i < count; ++i) {
    const size_t removed = graph->edges.remove_if([&](const auto& edge) {
      return edge.from == from[i] && edge.to == to[i] && AreSame(edge.data, edges[i]);
    });
    if (removed == 0) return cuda::kInvalidValue;
  }
  return cuda::kSuccess;
}

Result cuGraphAddMemsetNode(cuda::GraphNode* node, cuda::Graph graph,
                            const cuda::GraphNode* after, size_t count,
                            const cuda::FillParameters* parameters, cuda::Context) {
  const Need need = NeedHandle("graph", graph, "cuGraphAddMemsetNode");
  if (!need.IsMet()) return need.result;
  if (parameters->element_size != 1 || parameters->height != 1) {
    return cuda::kInvalidValue;
  }
  const auto fill = [of = *parameters] {
    char* const to = reinterpret_cast<char*>(of.to);
    if (State().memory().Owns(to, of.width)) {
      std::memset(to, static_cast<int>(of.value), of.width);
    } else {
      State().Note("cuGraphAddMemsetNode: memory that is not in use");
    }
  };
  graph->nodes.push_back(std::make_unique<cuda::GraphNodeObject>(
      cuda::GraphNodeObject{{.run = fill, .node_type = cuda::kFillNode}}));
  *node = graph->nodes.back().get();
  for (size_t i = 0; i < count; ++i) graph->edges.push_back({after[i], *node, {}});
  return cuda::kSuccess;
}

Result cuGraphInstantiateWithFlags(cuda::ExecutableGraph* executable, cuda::Graph graph,
                                   uint64_t) {
  const Need need = NeedHandle("graph", graph, "cuGraphInstantiate");
  if (!need.IsMet()) return need.result;
  *executable = new cuda::ExecutableGraphObject{
      std::make_shared<const cuda::Work>(InOrder(*graph))};
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
