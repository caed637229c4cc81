// What a device does in order, and points in it.
#ifndef EVENPACK_GPU_WORKER_CUDA_CUDA_STREAM_H_
#define EVENPACK_GPU_WORKER_CUDA_CUDA_STREAM_H_

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/cuda/cuda_context.h"

namespace evenpack::worker {

// A point in a stream. Thread-safe but for Record, which comes before all else.
class CudaEvent {
 public:
  // Await looks again and again, or sleeps, which takes some tens of microseconds
  // longer. What tells the time takes a little longer, too.
  enum class Use { kOrder, kSleepingAwait, kTiming };

  static absl::StatusOr<std::unique_ptr<CudaEvent>> Create(
      std::shared_ptr<const CudaContext> context, Use use = Use::kOrder);
  ~CudaEvent();
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  // It is reached when all is done that the stream has been given so far.
  absl::Status Record(cuda::Stream stream);
  // What the stream is given from now on comes after it.
  absl::Status Precede(cuda::Stream stream) const;
  // INTERNAL: what came before it failed.
  absl::StatusOr<bool> IsReached() const;
  // Blocks until it is. Errors likewise.
  absl::Status Await() const;
  // Nanoseconds, to half a microsecond; both are of kTiming, and are reached.
  absl::StatusOr<int64_t> Since(const CudaEvent& earlier) const;

 private:
  CudaEvent(std::shared_ptr<const CudaContext> context, cuda::Event handle);

  const std::shared_ptr<const CudaContext> context_;
  cuda::Event handle_;
};

// Goes on beside other streams. Thread-safe.
class CudaStream {
 public:
  enum class Priority { kLeast, kGreatest };

  static absl::StatusOr<std::unique_ptr<CudaStream>> Create(
      std::shared_ptr<const CudaContext> context, Priority priority);
  // What it has been given is still done.
  ~CudaStream();
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  cuda::Stream handle() const { return handle_; }
  // Blocks until all is done that it has been given. INTERNAL: some of it failed.
  absl::Status Synchronize() const;

 private:
  CudaStream(std::shared_ptr<const CudaContext> context, cuda::Stream handle);

  const std::shared_ptr<const CudaContext> context_;
  cuda::Stream handle_;
};

// Returns when the stream has done what it was given before. Errors of the device.
absl::Status Synchronize(const CudaContext& context, cuda::Stream stream);

// Orders streams again and again by one event, which is made for the first time: what
// waits for it waits for what it was when it was told to. Not thread-safe.
class StreamOrder {
 public:
  explicit StreamOrder(std::shared_ptr<const CudaContext> context)
      : context_(std::move(context)) {}

  // What `later` is given from now on comes after what `earlier` has been given.
  absl::Status Order(cuda::Stream earlier, cuda::Stream later);

 private:
  const std::shared_ptr<const CudaContext> context_;
  std::unique_ptr<CudaEvent> event_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDA_CUDA_STREAM_H_
