#include "gpu_worker/cudnn/cudnn_attention.h"

#include <algorithm>
#include <utility>

#include "gpu_worker/attention/bytes_after.h"
#include "gpu_worker/communicator/row_copies.h"
#include "gpu_worker/cuda/cuda_stream.h"
#include "gpu_worker/cudnn/plan_ladder.h"
#include "gpu_worker/cudnn/plan_memory.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::worker {
namespace {

absl::Status CheckType(ElementType type) {
  if (type != ElementType::kFloat32) return absl::OkStatus();
  return InvalidField("shape.type", ElementTypeName(type),
                      "bfloat16 or float16 on a CUDA device");
}

// As many tasks as a run may have, in turn.
template <typename Visit>
absl::Status ForEachRun(const AttentionCall& call, Visit visit) {
  absl::Status status = CheckType(call.shape.type);
  if (status.ok()) status = CheckKeys(call.tasks);
  std::span<const AttentionTask> tasks = call.tasks;
  while (!tasks.empty() && status.ok()) {
    const size_t count = std::min<size_t>(tasks.size(), kMostSequences);
    status = visit(tasks.first(count));
    tasks = tasks.subspan(count);
  }
  return status;
}

// In the order of the stream, which may read the bytes later: they live until it has.
absl::Status Upload(const CudaWorkplace& where, const std::vector<std::byte>& bytes,
                    void* to) {
  using Bytes = std::vector<std::byte>;
  auto kept = std::make_unique<Bytes>(bytes);
  const CurrentContext current(*where.context);
  const cuda::Functions& call = where.context->functions();
  absl::Status status = where.context->Check(
      call.cuMemcpyHtoDAsync_v2(reinterpret_cast<cuda::DevicePointer>(to), kept->data(),
                                kept->size(), where.compute),
      "to copy the lengths of slices");
  if (!status.ok()) return status;
  Bytes* const given = kept.get();
  status = where.context->Check(
      call.cuLaunchHostFunc(
          where.compute,
          [](void* read) {
            const std::unique_ptr<Bytes> gone(static_cast<Bytes*>(read));
          },
          given),
      "to keep the lengths of slices");
  // The stream has them now.
  if (!status.ok()) return status;
  [[maybe_unused]] Bytes* const left = kept.release();
  return status;
}

bool AreReceived(const AttentionCall& call) {
  return call.tasks.front().keys.front().received;
}

PlanShape LikeOf(Pass pass, const AttentionCall& call, size_t log_sum_exp_stride) {
  const Rows& keys = AreReceived(call) ? call.received_key : call.own_key;
  PlanShape shape;
  shape.pass = pass;
  shape.attention = call.shape;
  shape.query_stride = static_cast<int64_t>(call.query.stride);
  shape.key_stride = static_cast<int64_t>(keys.stride);
  shape.log_sum_exp_stride = static_cast<int64_t>(log_sum_exp_stride);
  return shape;
}

PlanShape LikeOf(const BackwardCall& of) {
  PlanShape shape = LikeOf(Pass::kBackward, of.call, of.input.log_sum_exp.stride);
  shape.key_gradient_stride = static_cast<int64_t>(of.call.shape.kv_row());
  return shape;
}

// One past the last of the call's rows of queries.
size_t QueryRows(const BackwardCall& of) {
  size_t rows = 0;
  for (const AttentionTask& task : of.call.tasks) {
    rows = std::max(rows, size_t{task.query_row} + (task.end - task.begin));
  }
  return rows;
}

// Of as many rows as any of the call's runs has.
PlanShape LargestRun(const BackwardSequences& sequences, const BackwardCall& of) {
  PlanShape shape = LikeOf(of);
  shape.all_keys = sequences.key_gradient_rows;
  shape.all_queries = static_cast<int64_t>(QueryRows(of));
  shape.log_sum_exp_stride = of.call.shape.query_heads;
  return OnLadder(shape);
}

PlanTensors TensorsOf(const AttentionCall& call) {
  const bool received = AreReceived(call);
  PlanTensors tensors;
  tensors.query = call.query.data;
  tensors.key = (received ? call.received_key : call.own_key).data;
  tensors.value = (received ? call.received_value : call.own_value).data;
  return tensors;
}

PlanTensors TensorsOf(const BackwardCall& of) {
  PlanTensors tensors = TensorsOf(of.call);
  tensors.output = const_cast<void*>(of.input.output.data);
  tensors.log_sum_exp = of.input.log_sum_exp.data;
  tensors.output_gradient = of.input.output_gradient.data;
  tensors.query_gradient = of.result.query_gradient.data;
  return tensors;
}

}  // namespace

CudnnAttention::CudnnAttention(CudaWorkplace where,
                               std::unique_ptr<AttentionPlanner> planner,
                               std::unique_ptr<RowKernels> kernels,
                               const CudnnOptions& options)
    : where_(std::move(where)),
      options_(options),
      kernels_(std::move(kernels)),
      plans_(std::move(planner)),
      graphs_(where_.context, options.graphs) {}

// Plans, graphs and kernels may be what the device is at. An error is as good an end.
CudnnAttention::~CudnnAttention() {
  Synchronize(*where_.context, where_.compute).IgnoreError();
}

absl::StatusOr<std::unique_ptr<CudnnAttention>> CudnnAttention::Create(
    CudaWorkplace where, std::unique_ptr<AttentionPlanner> planner,
    const CudnnOptions& options, std::span<const unsigned char> kernels) {
  absl::StatusOr<std::unique_ptr<RowKernels>> loaded =
      RowKernels::Load(where.context, kernels);
  if (!loaded.ok()) return loaded.status();
  return std::unique_ptr<CudnnAttention>(new CudnnAttention(
      std::move(where), std::move(planner), *std::move(loaded), options));
}

absl::Status CudnnAttention::CheckShape(const AttentionShape& shape) const {
  absl::Status status = Check(shape);
  if (status.ok()) status = CheckType(shape.type);
  return status.ok() ? plans_.CheckShape(shape) : status;
}

absl::Status CudnnAttention::Forward(const AttentionCall& call,
                                     const ForwardResult& result) {
  // Here already, where it is the backward pass that has no kernel.
  absl::Status accepted = plans_.CheckShape(call.shape);
  if (!accepted.ok()) return accepted;
  return ForEachRun(call, [&](std::span<const AttentionTask> tasks) {
    PlanTensors tensors = TensorsOf(call);
    tensors.output = result.output.data;
    tensors.log_sum_exp = result.log_sum_exp.data;
    std::vector<PlannedRun> runs;
    absl::Status status =
        Append(ForwardSequences(tasks),
               LikeOf(Pass::kForward, call, result.log_sum_exp.stride), tensors, runs);
    return status.ok() ? Run(std::move(runs)) : status;
  });
}

absl::Status CudnnAttention::Backward(const AttentionCall& call,
                                      const BackwardInput& input,
                                      const BackwardResult& result) {
  return ForEachRun(call, [&](std::span<const AttentionTask> tasks) {
    BackwardCall some = {call, input, result};
    some.call.tasks = tasks;
    BackwardSequences sequences =
        BackwardSequencesOf(tasks, call.shape.sliding_window != 0, options_.split_from);
    absl::StatusOr<BackwardMemory> memory = Take(sequences, some);
    if (!memory.ok()) return memory.status();
    absl::Status status = Run(sequences, some, *memory);
    result.key_gradients->push_back(
        Left(std::move(sequences), call.shape, *std::move(memory)));
    return status;
  });
}

absl::StatusOr<CudnnAttention::BackwardMemory> CudnnAttention::Take(
    const BackwardSequences& sequences, const BackwardCall& of) {
  const AttentionShape& shape = of.call.shape;
  BackwardMemory memory;
  const uint32_t at_once =
      HeadsAtOnce(LargestRun(sequences, of), options_.most_workspace);
  for (uint32_t begin = 0; begin < shape.kv_heads; begin += at_once) {
    memory.parts.push_back({begin, std::min(at_once, shape.kv_heads - begin)});
  }
  absl::Status status = TakeKeyGradients(sequences, shape, memory);
  if (status.ok()) status = TakeSums(of, memory);
  if (!status.ok()) return status;
  absl::StatusOr<CudaBuffer> taken =
      where_.memory->Take(static_cast<size_t>(sequences.query_gradient_rows) *
                              of.result.query_gradient.stride * BytesOf(shape.type),
                          where_.compute);
  if (!taken.ok()) return taken.status();
  memory.of_queries = *std::move(taken);
  return memory;
}

absl::Status CudnnAttention::TakeKeyGradients(const BackwardSequences& sequences,
                                              const AttentionShape& shape,
                                              BackwardMemory& memory) {
  const auto bytes_of = [&](const Part& part) {
    return AlignedForPlans(static_cast<size_t>(sequences.key_gradient_rows) *
                           part.heads * shape.head_size * BytesOf(shape.type));
  };
  size_t bytes = 0;
  for (const Part& part : memory.parts) bytes += 2 * bytes_of(part);
  absl::StatusOr<CudaBuffer> taken = where_.memory->Take(bytes, where_.compute);
  if (!taken.ok()) return taken.status();
  memory.of_keys = *std::move(taken);
  auto* next = static_cast<std::byte*>(memory.of_keys.data());
  for (Part& part : memory.parts) {
    part.key = next;
    part.value = next + bytes_of(part);
    next += 2 * bytes_of(part);
  }
  return absl::OkStatus();
}

// cuDNN's frontend counts of the last row of sums what the run's heads have, and gives
// cuDNN what lies behind: not aligned, where the rows have others too. A trainer's sums
// may lie at any number.
absl::Status CudnnAttention::TakeSums(const BackwardCall& of, BackwardMemory& memory) {
  const uint32_t group = of.call.shape.group_size();
  const FloatRows& all = of.input.log_sum_exp;
  if (size_t{memory.parts.front().heads} * group == all.stride &&
      IsAlignedTensor(all.data)) {
    memory.parts.front().log_sum_exp = all;
    return absl::OkStatus();
  }
  const size_t rows = QueryRows(of);
  const auto bytes_of = [&](const Part& part) {
    return AlignedForPlans(rows * part.heads * group * sizeof(float));
  };
  size_t bytes = 0;
  for (const Part& part : memory.parts) bytes += bytes_of(part);
  absl::StatusOr<CudaBuffer> taken = where_.memory->Take(bytes, where_.compute);
  if (!taken.ok()) return taken.status();
  memory.of_sums = *std::move(taken);
  void* next = memory.of_sums.data();
  std::vector<RowCopy> copies;
  for (Part& part : memory.parts) {
    const size_t heads = size_t{part.heads} * group;
    part.log_sum_exp = {static_cast<float*>(next), heads};
    const size_t row = heads * sizeof(float);
    copies.push_back({all.data + size_t{part.begin} * group, all.stride * sizeof(float),
                      next, row, row, rows});
    next = BytesAfter(next, bytes_of(part));
  }
  return kernels_->CopyRows(copies, where_.compute);
}

absl::Status CudnnAttention::Run(const BackwardSequences& sequences,
                                 const BackwardCall& of, const BackwardMemory& memory) {
  const AttentionShape& shape = of.call.shape;
  const size_t of_head = shape.head_size * BytesOf(shape.type);
  std::vector<PlannedRun> runs;
  for (const Part& part : memory.parts) {
    BackwardCall some = SomeHeads(of, part.begin, part.heads);
    some.input.log_sum_exp = part.log_sum_exp;
    PlanTensors tensors = TensorsOf(some);
    tensors.key_gradient = part.key;
    tensors.value_gradient = part.value;
    void* const added =
        BytesAfter(memory.of_queries.data(), of_head * shape.group_size() * part.begin);
    absl::Status status = AppendBackward(sequences, LikeOf(some), tensors, added, runs);
    if (!status.ok()) return status;
  }
  absl::Status status = Run(std::move(runs));
  return status.ok() ? AddQueryGradients(sequences, of, memory) : status;
}

KeyGradients CudnnAttention::Left(BackwardSequences sequences,
                                  const AttentionShape& shape, BackwardMemory memory) {
  KeyGradients left;
  left.type = shape.type;
  for (const Part& part : memory.parts) {
    left.parts.push_back({part.key, part.value, size_t{part.heads} * shape.head_size});
  }
  left.moves = std::move(sequences.key_gradients);
  left.held = std::make_shared<const CudaBuffer>(std::move(memory.of_keys));
  return left;
}

absl::Status CudnnAttention::AppendBackward(const BackwardSequences& sequences,
                                            const PlanShape& like, PlanTensors tensors,
                                            void* added,
                                            std::vector<PlannedRun>& runs) {
  PlanShape masked = like;
  masked.mask = Mask::kLastAligned;
  PlanShape own = like;
  own.mask = Mask::kCausal;
  PlanShape before = like;
  before.mask = Mask::kFull;
  absl::Status status = Append(sequences.masked, masked, tensors, runs);
  if (status.ok()) status = Append(sequences.own, own, tensors, runs);
  tensors.query_gradient = added;
  return status.ok() ? Append(sequences.before, before, tensors, runs) : status;
}

absl::Status CudnnAttention::AddQueryGradients(const BackwardSequences& sequences,
                                               const BackwardCall& of,
                                               const BackwardMemory& memory) {
  if (sequences.before.empty()) return absl::OkStatus();
  const AttentionShape& shape = of.call.shape;
  const MutableRows& sums = of.result.query_gradient;
  const size_t stride = sums.stride * BytesOf(shape.type);
  std::vector<RowCopy> rows;
  AppendCopies({memory.of_queries.data(), stride, sums.data, stride},
               sequences.query_gradients, shape.query_row() * BytesOf(shape.type),
               rows);
  return kernels_->AddRows(rows, shape.type, shape.type, where_.compute);
}

absl::Status CudnnAttention::Append(const std::vector<Sequence>& sequences,
                                    const PlanShape& like, const PlanTensors& tensors,
                                    std::vector<PlannedRun>& runs) {
  if (sequences.empty()) return absl::OkStatus();
  const PlanShape shape = OnLadder(NeededFor(sequences, like));
  const absl::StatusOr<AttentionPlan*> plan = plans_.For(shape);
  if (!plan.ok()) return plan.status();
  const absl::StatusOr<PlanTables> tables = Tables(**plan, sequences, shape);
  if (!tables.ok()) return tables.status();
  runs.push_back({*plan, *tables, tensors});
  return absl::OkStatus();
}

absl::Status CudnnAttention::Run(std::vector<PlannedRun> runs) {
  size_t bytes = 0;
  for (const PlannedRun& run : runs) {
    bytes = std::max(bytes, run.plan->workspace_bytes());
  }
  CudaBuffer of_runs;
  CudaBuffer& workspace = bytes <= options_.kept_workspace ? workspace_ : of_runs;
  if (workspace.size() < bytes) {
    workspace = CudaBuffer();
    absl::StatusOr<CudaBuffer> taken = where_.memory->Take(bytes, where_.compute);
    if (!taken.ok()) return taken.status();
    workspace = *std::move(taken);
  }
  return graphs_.Run({std::move(runs), workspace.data()}, where_.compute);
}

absl::StatusOr<PlanTables> CudnnAttention::Tables(
    const AttentionPlan& plan, const std::vector<Sequence>& sequences,
    const PlanShape& shape) {
  Uploaded& uploaded = uploaded_[&plan];
  if (uploaded.sequences != sequences) {
    const TableImage image(sequences, shape);
    // What is in the stream already has read them when they are written anew.
    if (uploaded.tables.size() == 0) {
      absl::StatusOr<CudaBuffer> tables =
          where_.memory->Take(image.bytes().size(), where_.compute);
      if (!tables.ok()) return tables.status();
      uploaded.tables = *std::move(tables);
    }
    uploaded.sequences.clear();
    absl::Status status = Upload(where_, image.bytes(), uploaded.tables.data());
    if (!status.ok()) return status;
    uploaded.sequences = sequences;
  }
  return TablesAt(uploaded.tables.data(), shape);
}

}  // namespace evenpack::worker
