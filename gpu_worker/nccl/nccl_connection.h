// One rank's connection to its group, whose calls can't hang.
#ifndef EVENPACK_GPU_WORKER_NCCL_NCCL_CONNECTION_H_
#define EVENPACK_GPU_WORKER_NCCL_NCCL_CONNECTION_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_worker/cuda/cuda_context.h"
#include "gpu_worker/nccl/exchange_plan.h"
#include "gpu_worker/nccl/nccl_ending.h"
#include "gpu_worker/nccl/nccl_library.h"
#include "gpu_worker/nccl/nccl_timing.h"
#include "server/runtime/mutex.h"

namespace evenpack::worker {

struct NcclSeat {
  uint32_t rank = 0;
  uint32_t ranks = 1;
};

// Thread-safe. Its states:
//
//   connecting ──> connected <──> launching
//       │              │              │         Connect, Launch: an error, no answer in
//       └──────────────┴──────────────┴──> aborted    time; Check: an error that NCCL
//                      │                              found meanwhile; Abort
//                      └──> closed              Close
//
// NCCL's handle is gone in the last two, and nothing is asked of NCCL any more. An
// abort ends what the device does for the connection: streams go on, with undefined
// data.
class NcclConnection {
 public:
  // Returns when all ranks are connected to it. `context`: of the rank's device.
  // UNAVAILABLE: they were not within connect_timeout, or a peer failed. INTERNAL: NCCL
  // failed here. CANCELLED: `stop` was requested.
  static absl::StatusOr<std::unique_ptr<NcclConnection>> Connect(
      std::shared_ptr<const NcclLibrary> library,
      std::shared_ptr<const CudaContext> context, const nccl::UniqueId& id,
      const NcclSeat& seat, const NcclTiming& timing, const std::stop_token& stop = {});
  // Aborts it, unless it was closed.
  ~NcclConnection();
  NcclConnection(const NcclConnection&) = delete;
  NcclConnection& operator=(const NcclConnection&) = delete;

  const NcclSeat& seat() const { return seat_; }

  // Puts an exchange of messages into the stream. Returns when the stream has it, which
  // takes the peers where they have exchanged nothing before; one call at a time.
  // Errors, which abort: as Connect, within exchange_timeout; the reason where it is
  // aborted.
  absl::Status Launch(const ExchangePlan& plan, cuda::Stream stream);
  // OK while it is connected, else the reason that it isn't any more. Looks for errors
  // that NCCL found meanwhile, which abort.
  absl::Status Check();
  // The first reason counts. Returns once NCCL has ended what is under way, or after
  // abort_timeout. What it used is given back in the stream's order, where it ends in
  // any case.
  void Abort(const absl::Status& reason);
  // For a group that is done: waits, for at most close_timeout, until peers have what
  // they were sent and NCCL has ended. Aborts where the former fails.
  void Close();

 private:
  NcclConnection(std::shared_ptr<const NcclLibrary> library,
                 std::shared_ptr<const CudaContext> context, const NcclSeat& seat,
                 const NcclTiming& timing);

  absl::Status Begin(const nccl::UniqueId& id);
  nccl::Result LaunchLocked(const ExchangePlan& plan, cuda::Stream stream)
      EVENPACK_REQUIRES(mutex_);
  // Nothing while what was begun is in progress. `what`: "to connect".
  std::optional<absl::Status> Progress(absl::string_view what);
  // Until it no longer is.
  absl::Status AwaitProgress(std::chrono::nanoseconds timeout, absl::string_view what,
                             const std::stop_token& stop = {});
  // Nobody has the handle any more: under no lock.
  void End(nccl::Communicator handle, NcclEnd end, Clock::TimePoint until) const;
  // What NCCL says of the connection; as for a call that failed.
  absl::Status Judge(nccl::Result result, absl::string_view what) const
      EVENPACK_REQUIRES(mutex_);
  absl::Status reason();

  const std::shared_ptr<const NcclLibrary> library_;
  // Current wherever NCCL has to do with the device, whichever thread asks: by its
  // release NCCL leaves the device current, or makes that current again which was.
  // Where none was that is the process's first, and a context is made there.
  const std::shared_ptr<const CudaContext> context_;
  const NcclSeat seat_;
  const NcclTiming timing_;

  Mutex mutex_;
  // Once it is aborted or closed, and once NCCL has ended.
  CondVar ended_;
  bool aborting_ EVENPACK_GUARDED_BY(mutex_) = false;
  // Null in the last two states.
  nccl::Communicator handle_ EVENPACK_GUARDED_BY(mutex_) = nullptr;
  // Not OK in the last two states.
  absl::Status reason_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_NCCL_NCCL_CONNECTION_H_
