// A rank's worker as a trainer in C drives it: one step at a time, with calls that may
// come in any order and with any argument.
#ifndef EVENPACK_GPU_WORKER_C_API_CHECKED_RANK_H_
#define EVENPACK_GPU_WORKER_C_API_CHECKED_RANK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cpp/client.h"
#include "gpu_worker/rank_form/rank_form.h"
#include "gpu_worker/rank_worker/rank_worker.h"

namespace evenpack::worker {

// Not thread-safe, but for Cancel(). Errors are documented in evenpack_worker.h.
class CheckedRank {
 public:
  // `options` without what the form says. Errors of ComputedOn and RankWorker::Start.
  static absl::StatusOr<std::unique_ptr<CheckedRank>> Open(
      client::Client client, const RankWorkerOptions& options,
      std::unique_ptr<RankForm> form);
  CheckedRank(const CheckedRank&) = delete;
  CheckedRank& operator=(const CheckedRank&) = delete;

  uint32_t cp_rank() const { return cp_rank_; }
  uint32_t cp_size() const { return worker_->cp_size(); }

  // Null: the job is drained.
  absl::StatusOr<const PreparedStep*> NextStep();
  // Of the last step. `micro_batch` is among those of the rank.
  absl::StatusOr<const client::MicroBatchView*> MicroBatch(uint32_t micro_batch) const;

  absl::Status BeginStep();
  absl::Status Forward(uint32_t micro_batch, const PassTensors& tensors, void* stream);
  absl::Status Backward(uint32_t micro_batch, const PassTensors& tensors, void* stream);
  absl::Status EndStep();
  absl::Status Abandon(absl::string_view why);

  absl::Status AcknowledgeDurable(uint64_t step);
  absl::Status Close();
  void Cancel();

 private:
  struct NamedTensor {
    const char* name;
    const void* data;
    // 0: that of heads, which depends on where and of what type they are.
    size_t alignment = 0;
  };
  // Of the last step, to which calls belong.
  enum class Phase : uint8_t { kNone, kTaken, kBegun, kEnded };

  CheckedRank(client::Client client, std::unique_ptr<RankForm> form, uint32_t cp_rank);

  absl::Status CheckNotClosed() const;
  // Nor cancelled.
  absl::Status CheckNotEnded() const;
  absl::Status CheckBegun(absl::string_view call) const;
  absl::Status CheckMicroBatch(uint32_t micro_batch) const;
  absl::Status CheckTensor(const NamedTensor& tensor,
                           const PreparedMicroBatch& prepared) const;
  // OK, or the step is over for the executor.
  absl::Status Judge(absl::Status status);
  // Does run(micro-batch) between what the stream has been given and what it will be,
  // where the pass may be done now, and has its tensors.
  template <typename Run>
  absl::Status RunPass(absl::string_view call, uint32_t micro_batch,
                       std::initializer_list<NamedTensor> tensors, void* stream,
                       Run run);

  client::Client client_;
  const std::unique_ptr<RankForm> form_;
  const uint32_t cp_rank_;
  std::unique_ptr<RankWorker> worker_;
  std::optional<PreparedStep> step_;
  Phase phase_ = Phase::kNone;
  std::optional<uint64_t> last_ended_;
  bool closed_ = false;
  std::atomic<bool> cancelled_ = false;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_C_API_CHECKED_RANK_H_
