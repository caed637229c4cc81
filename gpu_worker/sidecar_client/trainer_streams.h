// A trainer's CUDA streams beside the submissions to its worker.
//
//   auto driver = CudaDriver::Load();
//   auto worker = SidecarWorker::Open({..., .map = MapOnDevice(*driver)});
//   auto context = CudaContext::Open(*driver, (*worker)->arena().header().device);
//   auto streams = TrainerStreams::Create(**worker, *context);
//   ... the stream is given what makes the inputs ...
//   (*streams)->SignalReadyAfter(stream, ++value);
//   auto number = (*worker)->Forward(step, micro_batch, rows, tensors, value);
//   (*streams)->Precede(*number, stream);
//   ... the stream is given what takes the outputs ...
#ifndef EVENPACK_GPU_WORKER_SIDECAR_CLIENT_TRAINER_STREAMS_H_
#define EVENPACK_GPU_WORKER_SIDECAR_CLIENT_TRAINER_STREAMS_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/cuda/cuda_context.h"
#include "gpu_worker/cuda/event_pool.h"
#include "gpu_worker/sidecar_client/sidecar_link.h"
#include "server/runtime/mutex.h"

namespace evenpack::worker {

// What streams are told that need not wait any more. Waits of streams compare
// cyclically (CU_STREAM_WAIT_VALUE_GEQ): up to half of all numbers ahead is behind, so
// no greater number would be behind all submissions.
inline constexpr uint64_t kPassedAll = std::numeric_limits<int64_t>::max();

// Nothing waits on the host. Streams are those of the context, as CUstream has them.
// Thread-safe as the link is: SignalReadyAfter() may be called beside the others.
// FAILED_PRECONDITION of both: the stream is being captured for a CUDA graph;
// RESOURCE_EXHAUSTED: the device has no memory for an event. Nothing was done then.
class TrainerStreams {
 public:
  // The link must outlive it.
  static absl::StatusOr<std::unique_ptr<TrainerStreams>> Create(
      SidecarLink& link, std::shared_ptr<const CudaContext> context);
  // Streams that still wait go on. Returns once each is past what it was given here.
  ~TrainerStreams();
  TrainerStreams(const TrainerStreams&) = delete;
  TrainerStreams& operator=(const TrainerStreams&) = delete;

  // SidecarLink::SignalReady(value) once the stream has done what it has been given. By
  // a host function, for which the stream is held up some tens of microseconds, and
  // which the driver doesn't call after an error of the device. Calls come one after
  // another with rising values; the stream waits for those of the values before, which
  // another may be yet to reach, so that the worker sees them rise too.
  absl::Status SignalReadyAfter(cuda::Stream stream, uint64_t value);

  // What the stream is given from now on comes after the submission and those before
  // it. The stream itself polls a number in page-locked memory, which costs about a
  // microsecond; a thread of this object advances it. A host function that waited could
  // hold up those of other streams, and so what it waits for.
  //
  // Where the worker is gone, or takes no more submissions, the stream goes on too, and
  // SidecarLink::Wait says why: until then what it computes with is undefined, as it is
  // after a submission that failed.
  absl::Status Precede(uint64_t number, cuda::Stream stream);

 private:
  TrainerStreams(SidecarLink& link, std::shared_ptr<const CudaContext> context,
                 uint64_t* passed);

  void Run();
  // What the stream is given from now on comes after the last SignalReady.
  absl::Status FollowSignals(cuda::Stream stream) EVENPACK_REQUIRES(mutex_);
  // By an event: what the stream was given last is awaited in the end.
  absl::Status Note(cuda::Stream stream, std::unique_ptr<CudaEvent> event)
      EVENPACK_REQUIRES(mutex_);

  SidecarLink& link_;
  const std::shared_ptr<const CudaContext> context_;
  EventPool events_;
  // Page-locked: up to which submission streams may go on.
  uint64_t* const passed_;

  Mutex mutex_;
  CondVar changed_;
  // The last submission that a stream waits for.
  uint64_t wanted_ EVENPACK_GUARDED_BY(mutex_) = 0;
  // Behind the last SignalReady; null before there was one.
  std::unique_ptr<CudaEvent> signalled_ EVENPACK_GUARDED_BY(mutex_);
  // Behind what all streams were given here, those of streams that are gone too. The
  // first is not reached, as far as is known.
  std::deque<std::unique_ptr<CudaEvent>> given_ EVENPACK_GUARDED_BY(mutex_);
  std::atomic<bool> ending_ = false;
  std::thread thread_;  // last, since it uses the others
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_SIDECAR_CLIENT_TRAINER_STREAMS_H_
