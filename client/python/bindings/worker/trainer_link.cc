#include "client/python/bindings/worker/trainer_link.h"

#include <utility>

#include "gpu_worker/attach/attach_client.h"
#include "gpu_worker/attach/worker_sockets.h"
#include "gpu_worker/device_arena/device_arena.h"

namespace evenpack::python {

using worker::CudaContext;
using worker::CudaDriver;

TrainerLink::TrainerLink(worker::Attachment attachment)
    : link_(std::make_unique<worker::SidecarLink>(std::move(attachment))) {}

absl::StatusOr<std::unique_ptr<TrainerLink>> TrainerLink::Attach(
    const std::string& socket_folder, uint64_t arena_bytes, bool on_device,
    const worker::AttachPatience& patience) {
  std::shared_ptr<const CudaDriver> driver;
  worker::MapTensors map;
  if (on_device) {
    auto loaded = CudaDriver::Load();
    if (!loaded.ok()) return loaded.status();
    driver = *std::move(loaded);
    map = worker::MapOnDevice(driver);
  }
  absl::StatusOr<worker::Attachment> attachment =
      worker::Attach(worker::AttachSocketIn(socket_folder), arena_bytes, map, patience);
  if (!attachment.ok()) return attachment.status();
  std::unique_ptr<TrainerLink> made(new TrainerLink(*std::move(attachment)));
  if (driver != nullptr) {
    if (absl::Status status = made->OrderStreams(driver); !status.ok()) return status;
  }
  return made;
}

absl::Status TrainerLink::OrderStreams(
    const std::shared_ptr<const CudaDriver>& driver) {
  auto context = CudaContext::Open(driver, link_->arena().header().device);
  if (!context.ok()) return context.status();
  context_ = *std::move(context);
  auto streams = worker::TrainerStreams::Create(*link_, context_);
  if (!streams.ok()) return streams.status();
  streams_ = *std::move(streams);
  return absl::OkStatus();
}

TrainerLink::~TrainerLink() {
  if (streams_ == nullptr) return;
  // A fork has none of its threads, and no device: there is nothing to be waited for.
  if (getpid() != process_) {
    [[maybe_unused]] worker::TrainerStreams* const streams = streams_.release();
    [[maybe_unused]] worker::SidecarLink* const link = link_.release();
    return;
  }
  // What streams still wait for comes no more.
  link_->Leave();
  if (!last_.has_value()) return;
  const worker::CurrentContext current(*context_);
  context_->functions().cuStreamSynchronize(*last_);
}

std::optional<int> TrainerLink::cuda_device() const {
  if (context_ == nullptr) return std::nullopt;
  return context_->device();
}

absl::Status TrainerLink::RunPass(worker::cuda::Stream stream, const Submit& submit) {
  if (streams_ == nullptr) {
    const absl::StatusOr<uint64_t> number = submit(0);
    return number.ok() ? link_->Wait(*number) : number.status();
  }
  absl::Status status = streams_->SignalReadyAfter(stream, ++ready_);
  if (!status.ok()) return status;
  last_ = stream;
  const absl::StatusOr<uint64_t> number = submit(ready_);
  return number.ok() ? streams_->Precede(*number, stream) : number.status();
}

}  // namespace evenpack::python
