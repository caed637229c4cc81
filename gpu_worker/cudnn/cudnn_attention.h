// Attention on a CUDA device, by plans that fit all calls of like size.
#ifndef EVENPACK_GPU_WORKER_CUDNN_CUDNN_ATTENTION_H_
#define EVENPACK_GPU_WORKER_CUDNN_CUDNN_ATTENTION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/cuda/cuda_workplace.h"
#include "gpu_worker/cuda/row_kernels.h"
#include "gpu_worker/cudnn/attention_plan.h"
#include "gpu_worker/cudnn/call_heads.h"
#include "gpu_worker/cudnn/plan_cache.h"
#include "gpu_worker/cudnn/run_graphs.h"
#include "gpu_worker/cudnn/sequence_table.h"
#include "gpu_worker/cudnn/task_sequences.h"
#include "gpu_worker/device/key_gradients.h"

namespace evenpack::worker {

struct CudnnOptions {
  // Queries of a slice whose backward pass takes two runs (BackwardSequencesOf): where
  // these came out faster on an H200.
  int64_t split_from = 1024;
  // Bytes that a backward run should take beside its tensors: of more, the heads are
  // computed one part after another, down to one KV head at a time. That bounds what is
  // of the heads' keys; of the queries' rows a run takes as much for one head as for
  // all (BackwardWorkspace), which may be more.
  uint64_t most_workspace = uint64_t{2} << 30;
  // What a run takes is kept for the next ones up to so many bytes: taking it and
  // giving it back are calls of the driver, which a short run would wait for.
  size_t kept_workspace = size_t{64} << 20;
  RunGraphs::Limits graphs = {};
};

// Tensors are in the device's memory, and calls are computed in the order of a stream:
// they return when that has been given the work. The first call of a size builds its
// plans. bfloat16 and float16; the keys of a task in rows one after another, those of a
// call in one tensor (KeyPlacement::kTogether).
//
// Gradients of keys and values are of the tensors' type for each slice, and left to be
// summed. They may differ in their last places from run to run.
class CudnnAttention final : public AttentionEngine {
 public:
  // The stream is waited for in its end. Errors as RowKernels::Load.
  static absl::StatusOr<std::unique_ptr<CudnnAttention>> Create(
      CudaWorkplace where, std::unique_ptr<AttentionPlanner> planner,
      const CudnnOptions& options = {},
      std::span<const unsigned char> kernels = RowKernelImage());

  ~CudnnAttention() override;
  CudnnAttention(const CudnnAttention&) = delete;
  CudnnAttention& operator=(const CudnnAttention&) = delete;

  // Not beside a call. Errors of AttentionPlanner::CheckShape too.
  absl::Status CheckShape(const AttentionShape& shape) const override;
  KeyPlacement key_placement() const override { return KeyPlacement::kTogether; }
  bool leaves_key_gradients() const override { return true; }
  // INVALID_ARGUMENT: a type, a head size or a layout that isn't accepted.
  // RESOURCE_EXHAUSTED: the budget of the device's memory.
  absl::Status Forward(const AttentionCall& call, const ForwardResult& result) override;
  absl::Status Backward(const AttentionCall& call, const BackwardInput& input,
                        const BackwardResult& result) override;

  // How many were built.
  size_t plans() const { return plans_.size(); }
  size_t graphs() const { return graphs_.graphs(); }

 private:
  CudnnAttention(CudaWorkplace where, std::unique_ptr<AttentionPlanner> planner,
                 std::unique_ptr<RowKernels> kernels, const CudnnOptions& options);

  // KV heads that are computed together, in rows of which their gradients lie.
  struct Part {
    uint32_t begin = 0;
    uint32_t heads = 0;
    std::byte* key = nullptr;
    std::byte* value = nullptr;
    // Forward's, of these heads.
    FloatRows log_sum_exp = {};
  };
  // Of a backward call: gradients of keys and of values, of the call's heads, those of
  // queries that are added to the ones in place, which lie as these do, and the parts'
  // sums, where they don't lie aligned in rows of theirs alone.
  struct BackwardMemory {
    CudaBuffer of_keys;
    std::vector<Part> parts;
    CudaBuffer of_queries;
    CudaBuffer of_sums;
  };

  absl::StatusOr<BackwardMemory> Take(const BackwardSequences& sequences,
                                      const BackwardCall& of);
  absl::Status TakeKeyGradients(const BackwardSequences& sequences,
                                const AttentionShape& shape, BackwardMemory& memory);
  absl::Status TakeSums(const BackwardCall& of, BackwardMemory& memory);
  absl::Status Run(const BackwardSequences& sequences, const BackwardCall& of,
                   const BackwardMemory& memory);
  // What the runs leave of keys and values.
  static KeyGradients Left(BackwardSequences sequences, const AttentionShape& shape,
                           BackwardMemory memory);
  absl::Status AddQueryGradients(const BackwardSequences& sequences,
                                 const BackwardCall& of, const BackwardMemory& memory);

  // Puts a run behind those that are there; none where there are no sequences. `like`
  // says all but their lengths.
  absl::Status Append(const std::vector<Sequence>& sequences, const PlanShape& like,
                      const PlanTensors& tensors, std::vector<PlannedRun>& runs);
  // Runs of some heads, whose gradients of queries that are added go to `added`.
  absl::Status AppendBackward(const BackwardSequences& sequences, const PlanShape& like,
                              PlanTensors tensors, void* added,
                              std::vector<PlannedRun>& runs);
  // In memory that they share.
  absl::Status Run(std::vector<PlannedRun> runs);

  // On the device: those of the plan's last run where they are the same, as layer after
  // layer executes the same slices, else where those were.
  absl::StatusOr<PlanTables> Tables(const AttentionPlan& plan,
                                    const std::vector<Sequence>& sequences,
                                    const PlanShape& shape);

  struct Uploaded {
    std::vector<Sequence> sequences;
    CudaBuffer tables;
  };

  const CudaWorkplace where_;
  const CudnnOptions options_;
  const std::unique_ptr<RowKernels> kernels_;
  PlanCache plans_;
  RunGraphs graphs_;  // after the plans, which it uses
  absl::flat_hash_map<const AttentionPlan*, Uploaded> uploaded_;
  // Runs follow each other in the stream: the one's is the next one's.
  CudaBuffer workspace_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDNN_CUDNN_ATTENTION_H_
