#include "gpu_worker/cudnn/cudnn_planner.h"

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#include <cudnn_frontend.h>
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpu_worker/attention/bytes_after.h"
#include "gpu_worker/cuda/shared_library.h"
#include "gpu_worker/cudnn/plan_ladder.h"
#include "gpu_worker/cudnn/plan_memory.h"
#include "server/core/document/invalid_field.h"
#include "server/runtime/mutex.h"

namespace cudnn_frontend {
// What the frontend calls cuDNN through.
void* cudnn_dlhandle = nullptr;
}  // namespace cudnn_frontend

namespace evenpack::worker {
namespace {

namespace fe = cudnn_frontend;
using fe::graph::Graph;
using fe::graph::SDPA_attributes;
using fe::graph::SDPA_backward_attributes;
using fe::graph::Tensor_attributes;
using Tensor = std::shared_ptr<Tensor_attributes>;

// docs/adr/0082
constexpr int64_t kOldestCudnn = 91800;
constexpr int kHopper = 90;
// Of head sizes up to here every device has kernels of both passes.
constexpr uint32_t kAnywhere = 128;

enum Id : int64_t {
  kQuery = 1,
  kKey,
  kValue,
  kOutput,
  kLogSumExp,
  kOutputGradient,
  kQueryGradient,
  kKeyGradient,
  kValueGradient,
  kQueryLengths,
  kKeyLengths,
  kQueryOffsets,
  kKeyOffsets,
  kLogSumExpOffsets,
  kKeyGradientOffsets,
};

absl::Status StatusOf(fe::error_t error, const std::string& what) {
  if (error.is_good()) return absl::OkStatus();
  const std::string message =
      absl::StrCat("cuDNN failed ", what, ": ", error.get_message());
  return error.get_code() == fe::error_code_t::GRAPH_NOT_SUPPORTED ||
                 error.get_code() == fe::error_code_t::HEURISTIC_QUERY_FAILED
             ? absl::UnimplementedError(message)
             : absl::InternalError(message);
}

// The frontend throws where it doesn't find what it calls.
template <typename Call>
absl::Status Caught(Call call) {
  try {
    return call();
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("cuDNN failed: ", error.what()));
  }
}

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

class SizedGraph final : public Graph {
 public:
  // Of the workspace, before what is cuDNN's own.
  int64_t frontend_bytes() const { return get_fe_workspace_size_subtree(); }
};

// The tensors of a graph, and what it does with them.
class GraphOf {
 public:
  // `generation`: of the device, as 90 for Hopper.
  GraphOf(const PlanShape& shape, int generation) : shape_(shape) {
    graph_.set_sm_version(generation);
    graph_
        .set_io_data_type(of().type == ElementType::kFloat16 ? fe::DataType_t::HALF
                                                             : fe::DataType_t::BFLOAT16)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    query_offsets_ = Table(kQueryOffsets, fe::DataType_t::INT64, 1);
    key_offsets_ = Table(kKeyOffsets, fe::DataType_t::INT64, 1);
    log_sum_exp_offsets_ = Table(kLogSumExpOffsets, fe::DataType_t::INT64, 1);
    query_lengths_ = Table(kQueryLengths, fe::DataType_t::INT32, 0);
    key_lengths_ = Table(kKeyLengths, fe::DataType_t::INT32, 0);
    query_ = Input(kQuery, Queries());
    key_ = Input(kKey, Keys());
    value_ = Input(kValue, Keys());
    if (shape.pass == Pass::kForward) {
      AddForward();
    } else {
      AddBackward();
    }
  }

  SizedGraph& graph() { return graph_; }

 private:
  const AttentionShape& of() const { return shape_.attention; }

  Tensor Table(Id id, fe::DataType_t type, int64_t more) {
    return graph_.tensor(Tensor_attributes()
                             .set_uid(id)
                             .set_dim({shape_.sequences + more, 1, 1, 1})
                             .set_stride({1, 1, 1, 1})
                             .set_data_type(type));
  }
  Tensor_attributes Rows(int64_t heads, int64_t tokens, int64_t stride,
                         const Tensor& offsets) const {
    Tensor_attributes rows;
    rows.set_dim({shape_.sequences, heads, tokens, of().head_size})
        .set_stride({tokens * stride, of().head_size, stride, 1})
        .set_ragged_offset(offsets);
    return rows;
  }
  Tensor_attributes Queries() const {
    return Rows(of().query_heads, shape_.queries, shape_.query_stride, query_offsets_);
  }
  Tensor_attributes Keys() const {
    return Rows(of().kv_heads, shape_.keys, shape_.key_stride, key_offsets_);
  }
  Tensor_attributes LogSumExp() const {
    Tensor_attributes numbers;
    numbers.set_dim({shape_.sequences, of().query_heads, shape_.queries, 1})
        .set_stride({shape_.queries * shape_.log_sum_exp_stride, 1,
                     shape_.log_sum_exp_stride, 1})
        .set_ragged_offset(log_sum_exp_offsets_)
        .set_data_type(fe::DataType_t::FLOAT);
    return numbers;
  }
  Tensor Input(Id id, Tensor_attributes attributes) {
    return graph_.tensor(attributes.set_uid(id));
  }
  static void Output(const Tensor& tensor, Id id, const Tensor_attributes& as) {
    tensor->set_output(true)
        .set_uid(id)
        .set_dim(as.get_dim())
        .set_stride(as.get_stride())
        .set_ragged_offset(const_cast<Tensor_attributes&>(as).get_ragged_offset());
  }

  template <typename Attributes>
  void SetMask(Attributes& attributes) const {
    attributes.set_attn_scale(of().Scale())
        .set_padding_mask(true)
        .set_seq_len_q(query_lengths_)
        .set_seq_len_kv(key_lengths_);
    if (shape_.mask == Mask::kFull) return;
    attributes
        .set_diagonal_alignment(shape_.mask == Mask::kCausal
                                    ? fe::DiagonalAlignment_t::TOP_LEFT
                                    : fe::DiagonalAlignment_t::BOTTOM_RIGHT)
        .set_diagonal_band_right_bound(0);
    if (of().sliding_window != 0) {
      attributes.set_diagonal_band_left_bound(static_cast<int>(of().sliding_window));
    }
  }

  void AddForward() {
    SDPA_attributes attributes;
    SetMask(attributes);
    attributes.set_generate_stats(true);
    auto [output, log_sum_exp] = graph_.sdpa(query_, key_, value_, attributes);
    Output(output, kOutput, Queries());
    Output(log_sum_exp, kLogSumExp, LogSumExp());
    log_sum_exp->set_data_type(fe::DataType_t::FLOAT);
  }

  void AddBackward() {
    SDPA_backward_attributes attributes;
    SetMask(attributes);
    attributes.set_max_total_seq_len_q(shape_.all_queries)
        .set_max_total_seq_len_kv(shape_.all_keys);
    const Tensor output = Input(kOutput, Queries());
    const Tensor output_gradient = Input(kOutputGradient, Queries());
    const Tensor log_sum_exp = Input(kLogSumExp, LogSumExp());
    auto [query_gradient, key_gradient, value_gradient] = graph_.sdpa_backward(
        query_, key_, value_, output, output_gradient, log_sum_exp, attributes);
    Output(query_gradient, kQueryGradient, Queries());
    const Tensor offsets = Table(kKeyGradientOffsets, fe::DataType_t::INT64, 1);
    const Tensor_attributes gradients =
        Rows(of().kv_heads, shape_.keys, shape_.key_gradient_stride, offsets);
    Output(key_gradient, kKeyGradient, gradients);
    Output(value_gradient, kValueGradient, gradients);
  }

  const PlanShape shape_;
  SizedGraph graph_;
  Tensor query_offsets_;
  Tensor key_offsets_;
  Tensor log_sum_exp_offsets_;
  Tensor query_lengths_;
  Tensor key_lengths_;
  Tensor query_;
  Tensor key_;
  Tensor value_;
};

// As cuDNN describes the device; of Hopper where it doesn't say.
int GenerationOf(const std::string& properties) {
  const size_t at = properties.find("\"deviceVer\"");
  const size_t colon = at == std::string::npos ? at : properties.find(':', at);
  if (colon == std::string::npos) return kHopper;
  const int64_t version = std::strtol(properties.c_str() + colon + 1, nullptr, 10);
  return version > 0 ? static_cast<int>(version / 10) : kHopper;
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

// Of a device of that generation, by what building such a plan came to.
absl::Status Judge(const AttentionShape& of, int generation, absl::Status built) {
  if (!absl::IsUnimplemented(built)) return built;
  return InvalidField(
      "shape.head_size", of.head_size,
      absl::StrCat("up to ", kAnywhere, " on this device, of compute capability ",
                   generation / 10, ".", generation % 10,
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

absl::Status BuildGraph(GraphOf& of, cudnnHandle_t handle, CudnnMemory& memory) {
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
      : handle_(std::move(handle)),
        backward_(shape.pass == Pass::kBackward),
        graph_(shape, handle_->generation()) {}

  absl::Status Build() {
    return Caught([this] { return BuildGraph(graph_, handle_->get(), memory_); });
  }

  size_t workspace_bytes() const override { return memory_.bytes(); }

  absl::Status Run(const PlanTables& tables, const PlanTensors& tensors,
                   void* workspace, cuda::Stream stream) override {
    Pass(tables, tensors);
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
  void Pass(const PlanTables& tables, const PlanTensors& tensors) {
    const auto pass = [this](Id id, const void* pointer) {
      pointers_[id] = const_cast<void*>(pointer);
    };
    pass(kQuery, tensors.query);
    pass(kKey, tensors.key);
    pass(kValue, tensors.value);
    pass(kOutput, tensors.output);
    pass(kLogSumExp, tensors.log_sum_exp);
    pass(kQueryLengths, tables.query_lengths);
    pass(kKeyLengths, tables.key_lengths);
    pass(kQueryOffsets, tables.query_offsets);
    pass(kKeyOffsets, tables.key_offsets);
    pass(kLogSumExpOffsets, tables.log_sum_exp_offsets);
    if (!backward_) return;
    pass(kOutputGradient, tensors.output_gradient);
    pass(kQueryGradient, tensors.query_gradient);
    pass(kKeyGradient, tensors.key_gradient);
    pass(kValueGradient, tensors.value_gradient);
    pass(kKeyGradientOffsets, tables.key_gradient_offsets);
  }

  const std::shared_ptr<const Handle> handle_;
  const bool backward_;
  GraphOf graph_;
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
    // cudnn_planner_test has all of them for Hopper.
    if (handle_->generation() == kHopper || shape.head_size <= kAnywhere) {
      return absl::OkStatus();
    }
    return Judge(shape, handle_->generation(), Build(BackwardOf(shape)).status());
  }

 private:
  const std::shared_ptr<const Handle> handle_;
};

// The frontend calls whatever its handle names, and keeps some of the functions that it
// found first: it gets none but that of a cuDNN that is accepted.
absl::Status LoadCudnn(const std::string& path) {
  static auto& mutex = *new Mutex;
  const MutexLock lock(mutex);
  if (fe::cudnn_dlhandle != nullptr) return absl::OkStatus();
  const LibraryName name = {"cuDNN", "libcudnn.so.9", "EVENPACK_CUDNN"};
  const absl::StatusOr<SharedLibrary> library = SharedLibrary::Open(name, path);
  if (!library.ok()) return library.status();
  size_t (*version_of)() = nullptr;
  absl::Status status = library->Find("cudnnGetVersion", version_of);
  if (!status.ok()) return status;
  const auto version = static_cast<int64_t>(version_of());
  if (version < kOldestCudnn) {
    return absl::FailedPreconditionError(
        absl::StrCat("cuDNN, '", library->path(), "', is of version ", version,
                     "; accepted: ", kOldestCudnn, " and later"));
  }
  fe::cudnn_dlhandle = dlopen(library->path().c_str(), RTLD_NOW);
  return absl::OkStatus();
}

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
    GraphOf graph(shape, GenerationOf(properties));
    graph.graph().set_device_properties(*device);
    return BuildGraph(graph, nullptr, memory);
  });
  if (!status.ok()) return About(shape, status);
  return memory;
}

absl::Status CheckCudnnShape(const AttentionShape& shape, const std::string& properties,
                             const std::string& path) {
  if (shape.head_size <= kAnywhere) return absl::OkStatus();
  return Judge(shape, GenerationOf(properties),
               CheckCudnnPlan(BackwardOf(shape), properties, path));
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
