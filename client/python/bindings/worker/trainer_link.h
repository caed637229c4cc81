// A trainer's link to its sidecar, as Python has it.
#ifndef EVENPACK_CLIENT_PYTHON_BINDINGS_WORKER_TRAINER_LINK_H_
#define EVENPACK_CLIENT_PYTHON_BINDINGS_WORKER_TRAINER_LINK_H_

#include <unistd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/cuda/cuda_context.h"
#include "gpu_worker/sidecar_client/sidecar_link.h"
#include "gpu_worker/sidecar_client/trainer_streams.h"
#include "server/runtime/mutex.h"

namespace evenpack::python {

// Its tensors are in memory of the processes or of a CUDA device. Not thread-safe, but
// for link().Leave() and calls().
class TrainerLink {
 public:
  // A pass, which begins once SignalReady() has said `ready`: its number.
  using Submit = std::function<absl::StatusOr<uint64_t>(uint64_t ready)>;

  // On a device: on the worker's. Errors of worker::Attach(); FAILED_PRECONDITION:
  // there is no CUDA driver, or it doesn't see that device.
  static absl::StatusOr<std::unique_ptr<TrainerLink>> Attach(
      const std::string& socket_folder, uint64_t arena_bytes, bool on_device,
      const worker::AttachPatience& patience);
  // Waits until the device is done with what its memory was used for last.
  ~TrainerLink();
  TrainerLink(const TrainerLink&) = delete;
  TrainerLink& operator=(const TrainerLink&) = delete;

  worker::SidecarLink& link() { return *link_; }
  // For who has several threads: submissions are one at a time.
  Mutex& calls() { return calls_; }
  // Its number among those that this process sees; none: tensors are in its memory.
  std::optional<int> cuda_device() const;

  // On a device: tensors of its memory are used in this stream from now on. As
  // submissions.
  void UseIn(worker::cuda::Stream stream) { last_ = stream; }
  // On a device: after what the stream has been given, and before what it is given
  // next; what it fails with, a later submission's Wait() tells. Else, returns once it
  // is done.
  absl::Status RunPass(worker::cuda::Stream stream, const Submit& submit);

 private:
  explicit TrainerLink(worker::Attachment attachment);

  absl::Status OrderStreams(const std::shared_ptr<const worker::CudaDriver>& driver);

  const pid_t process_ = getpid();
  std::unique_ptr<worker::SidecarLink> link_;
  // None of these without a device.
  std::shared_ptr<const worker::CudaContext> context_;
  std::unique_ptr<worker::TrainerStreams> streams_;
  uint64_t ready_ = 0;
  std::optional<worker::cuda::Stream> last_;
  Mutex calls_;
};

}  // namespace evenpack::python

#endif  // EVENPACK_CLIENT_PYTHON_BINDINGS_WORKER_TRAINER_LINK_H_
