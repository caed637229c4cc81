#include "gpu_worker/cudnn/cudnn_planner.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpu_worker/attention/bytes_after.h"
#include "gpu_worker/cudnn/attention_graph.h"
#include "gpu_worker/cudnn/cudnn_library.h"
#include "gpu_worker/cudnn/device_generation.h"
#include "gpu_worker/cudnn/frontend_status.h"
#include "gpu_worker/cudnn/plan_ladder.h"
#include "gpu_worker/cudnn/plan_memory.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::worker {
namespace {

namespace fe = cudnn_frontend;

// The largest of which other devices than Hopper's had kernels of both passes at first.
constexpr uint32_t kCommonHeads = 128;

std::string Text(const PlanShape& shape) {
  const AttentionShape& of = shape.attention;
  return absl::StrCat(shape.pass == Pass::kForward ? "forward" : "backward", " of ",
                      shape.sequences, " sequences of ", shape.queries, " queries and ",
                      shape.keys, " keys, ", of.query_heads, ":", of.kv_heads,
                      " heads of ", of.head_size, ", sliding window ",
                      of.sliding_window);
}

absl::Status About(const PlanShape& shape, const absl::Status& status) {
  if (status.ok()) return status;
  return {status.code(), absl::StrCat(status.message(), " (", Text(shape), ")")};
}

// A small plan of the pass that has fewer kernels.
PlanShape BackwardOf(const AttentionShape& of) {
  PlanShape shape;
  shape.pass = Pass::kBackward;
  shape.attention = of;
  shape.sequences = 1;
  shape.queries = shape.all_queries = 128;
  shape.keys = shape.all_keys = 128;
  shape.query_stride = static_cast<int64_t>(of.query_row());
  shape.key_stride = shape.key_gradient_stride = static_cast<int64_t>(of.kv_row());
  shape.log_sum_exp_stride = of.query_heads;
  return OnLadder(shape);
}

// Whether there are kernels of both passes: cudnn_planner_test has them.
bool IsKnown(const AttentionShape& of, int generation) {
  return generation == kHopper ||
         (generation / 10 == 10 && of.head_size <= kCommonHeads);
}

// Of a device of that generation, on which `build` builds plans.
absl::Status Judge(AttentionShape of, int generation,
                   const std::function<absl::Status(const PlanShape&)>& build) {
  absl::Status built = build(BackwardOf(of));
  if (!absl::IsUnimplemented(built)) return built;
  const uint32_t asked = std::exchange(of.head_size, kCommonHeads);
  const bool has_common = asked > kCommonHeads && build(BackwardOf(of)).ok();
  return InvalidField(
      "shape.head_size", asked,
      absl::StrCat(has_common ? absl::StrCat("up to ", kCommonHeads) : "none",
                   " on this device, of compute capability ", generation / 10, ".",
                   generation % 10,
                   ", where this cuDNN has no more: ", built.message()));
}

// One for each device. Not thread-safe.
class Handle {
 public:
  // `generation`: of the device.
  static absl::StatusOr<std::shared_ptr<Handle>> Open(
      std::shared_ptr<const CudaContext> context, int generation) {
    std::shared_ptr<Handle> handle(new Handle(std::move(context), generation));
    const CurrentContext current(*handle->context_);
    absl::Status status = Caught([&] {
      return fe::detail::create_handle(&handle->handle_) == CUDNN_STATUS_SUCCESS
                 ? absl::OkStatus()
                 : absl::InternalError("cuDNN can't use the device");
    });
    if (!status.ok()) return status;
    return handle;
  }
  ~Handle() {
    const CurrentContext current(*context_);
    if (handle_ == nullptr) return;
    // Nothing is left to do where it fails.
    Caught([this] {
      fe::detail::destroy_handle(handle_);
      return absl::OkStatus();
    }).IgnoreError();
  }

  const CudaContext& context() const { return *context_; }
  int generation() const { return generation_; }
  cudnnHandle_t get() const { return handle_; }

 private:
  Handle(std::shared_ptr<const CudaContext> context, int generation)
      : context_(std::move(context)), generation_(generation) {}

  const std::shared_ptr<const CudaContext> context_;
  const int generation_;
  cudnnHandle_t handle_ = nullptr;
};

absl::Status BuildGraph(AttentionGraph& of, cudnnHandle_t handle, CudnnMemory& memory) {
  SizedGraph& graph = of.graph();
  fe::error_t error = graph.validate();
  if (error.is_good()) error = graph.build_operation_graph(handle);
  if (error.is_good()) error = graph.create_execution_plans({fe::HeurMode_t::A});
  if (error.is_good()) error = graph.check_support();
  if (error.is_good()) error = graph.build_plans();
  if (error.is_bad()) return StatusOf(error, "to build a plan");
  int64_t bytes = 0;
  absl::Status status =
      StatusOf(graph.get_workspace_size(bytes), "to tell a plan's memory");
  if (!status.ok()) return status;
  memory.frontend = static_cast<size_t>(graph.frontend_bytes());
  memory.own = static_cast<size_t>(bytes) - memory.frontend;
  memory.free = AlignedForPlans(memory.frontend) - memory.frontend;
  return status;
}

class CudnnPlan final : public AttentionPlan {
 public:
  CudnnPlan(std::shared_ptr<const Handle> handle, const PlanShape& shape)
      : handle_(std::move(handle)), graph_(shape, handle_->generation()) {}

  absl::Status Build() {
    return Caught([this] { return BuildGraph(graph_, handle_->get(), memory_); });
  }

  size_t workspace_bytes() const override { return memory_.bytes(); }

  absl::Status Run(const PlanTables& tables, const PlanTensors& tensors,
                   void* workspace, cuda::Stream stream) override {
    graph_.PointTo(tables, tensors, pointers_);
    return Caught([&] {
      const CurrentContext current(handle_->context());
      if (fe::detail::set_stream(handle_->get(), reinterpret_cast<cudaStream_t>(
                                                     stream)) != CUDNN_STATUS_SUCCESS) {
        return absl::InternalError("cuDNN can't use the stream");
      }
      return StatusOf(graph_.graph().execute(handle_->get(), pointers_,
                                             BytesAfter(workspace, memory_.free)),
                      "to run a plan");
    });
  }

 private:
  const std::shared_ptr<const Handle> handle_;
  AttentionGraph graph_;
  CudnnMemory memory_;
  std::unordered_map<int64_t, void*> pointers_;
};

class CudnnPlanner final : public AttentionPlanner {
 public:
  explicit CudnnPlanner(std::shared_ptr<const Handle> handle)
      : handle_(std::move(handle)) {}

  absl::StatusOr<std::unique_ptr<AttentionPlan>> Build(
      const PlanShape& shape) override {
    const CurrentContext current(handle_->context());
    auto plan = std::make_unique<CudnnPlan>(handle_, shape);
    if (absl::Status status = About(shape, plan->Build()); !status.ok()) return status;
    return plan;
  }

  absl::Status CheckShape(const AttentionShape& shape) override {
    if (IsKnown(shape, handle_->generation())) return absl::OkStatus();
    return Judge(shape, handle_->generation(),
                 [this](const PlanShape& of) { return Build(of).status(); });
  }

 private:
  const std::shared_ptr<const Handle> handle_;
};

absl::StatusOr<std::shared_ptr<fe::DeviceProperties>> DeviceFrom(
    const std::string& properties) {
  auto device = std::make_shared<fe::DeviceProperties>();
  const std::vector<uint8_t> bytes(properties.begin(), properties.end());
  const absl::Status status = Caught([&] {
    return StatusOf(device->deserialize(bytes), "to read a device's properties");
  });
  if (status.ok()) return device;
  return absl::InvalidArgumentError(
      absl::StrCat(status.message(), "; accepted: what CudnnDeviceProperties tells"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<AttentionPlanner>> OpenCudnn(
    std::shared_ptr<const CudaContext> context, const std::string& path) {
  if (absl::Status status = LoadCudnn(path); !status.ok()) return status;
  const int generation =
      GenerationOf(CudnnDeviceProperties(context, path).value_or(""));
  absl::StatusOr<std::shared_ptr<Handle>> handle =
      Handle::Open(std::move(context), generation);
  if (!handle.ok()) return handle.status();
  return std::make_unique<CudnnPlanner>(*std::move(handle));
}

absl::Status CheckCudnnPlan(const PlanShape& shape, const std::string& properties,
                            const std::string& path) {
  return CudnnWorkspace(shape, properties, path).status();
}

absl::StatusOr<CudnnMemory> CudnnWorkspace(const PlanShape& shape,
                                           const std::string& properties,
                                           const std::string& path) {
  if (absl::Status status = LoadCudnn(path); !status.ok()) return status;
  const absl::StatusOr<std::shared_ptr<fe::DeviceProperties>> device =
      DeviceFrom(properties);
  if (!device.ok()) return device.status();
  CudnnMemory memory;
  const absl::Status status = Caught([&] {
    AttentionGraph graph(shape, GenerationOf(properties));
    graph.graph().set_device_properties(*device);
    return BuildGraph(graph, nullptr, memory);
  });
  if (!status.ok()) return About(shape, status);
  return memory;
}

absl::Status CheckCudnnShape(const AttentionShape& shape, const std::string& properties,
                             const std::string& path) {
  return Judge(shape, GenerationOf(properties), [&](const PlanShape& of) {
    return CheckCudnnPlan(of, properties, path);
  });
}

absl::StatusOr<std::string> CudnnDeviceProperties(
    std::shared_ptr<const CudaContext> context, const std::string& path) {
  if (absl::Status status = LoadCudnn(path); !status.ok()) return status;
  const CurrentContext current(*context);
  fe::DeviceProperties device;
  std::vector<uint8_t> bytes;
  absl::Status status = Caught([&] {
    fe::error_t error = device.set_device_id(context->device()).build();
    if (error.is_good()) error = device.serialize(bytes);
    return StatusOf(error, "to tell a device's properties");
  });
  if (!status.ok()) return status;
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace evenpack::worker
