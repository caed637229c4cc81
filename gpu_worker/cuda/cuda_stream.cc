#include "gpu_worker/cuda/cuda_stream.h"

#include <cmath>
#include <utility>

namespace evenpack::worker {

namespace {

unsigned FlagsOf(CudaEvent::Use use) {
  switch (use) {
    case CudaEvent::Use::kOrder:
      return cuda::kEventDisableTiming;
    case CudaEvent::Use::kSleepingAwait:
      return cuda::kEventDisableTiming | cuda::kEventBlockingSync;
    case CudaEvent::Use::kTiming:
      return cuda::kEventDefault;
  }
  return cuda::kEventDefault;
}

}  // namespace

CudaEvent::CudaEvent(std::shared_ptr<const CudaContext> context, cuda::Event handle)
    : context_(std::move(context)), handle_(handle) {}

CudaEvent::~CudaEvent() {
  const CurrentContext current(*context_);
  context_->functions().cuEventDestroy_v2(handle_);
}

absl::StatusOr<std::unique_ptr<CudaEvent>> CudaEvent::Create(
    std::shared_ptr<const CudaContext> context, Use use) {
  const CurrentContext current(*context);
  cuda::Event handle = nullptr;
  absl::Status status = context->Check(
      context->functions().cuEventCreate(&handle, FlagsOf(use)), "to make an event");
  if (!status.ok()) return status;
  return std::unique_ptr<CudaEvent>(new CudaEvent(std::move(context), handle));
}

absl::Status CudaEvent::Record(cuda::Stream stream) {
  const CurrentContext current(*context_);
  return context_->Check(context_->functions().cuEventRecord(handle_, stream),
                         "to record an event");
}

absl::Status CudaEvent::Precede(cuda::Stream stream) const {
  const CurrentContext current(*context_);
  return context_->Check(context_->functions().cuStreamWaitEvent(stream, handle_, 0),
                         "to order its streams");
}

absl::StatusOr<bool> CudaEvent::IsReached() const {
  const CurrentContext current(*context_);
  const BesideCaptures beside(*context_);
  const cuda::Result result = context_->functions().cuEventQuery(handle_);
  if (result == cuda::kNotReady) return false;
  if (absl::Status status = context_->Check(result, "while it worked"); !status.ok()) {
    return status;
  }
  return true;
}

absl::Status CudaEvent::Await() const {
  const CurrentContext current(*context_);
  const BesideCaptures beside(*context_);
  return context_->Check(context_->functions().cuEventSynchronize(handle_),
                         "while it worked");
}

absl::StatusOr<int64_t> CudaEvent::Since(const CudaEvent& earlier) const {
  const CurrentContext current(*context_);
  float milliseconds = 0;
  absl::Status status = context_->Check(
      context_->functions().cuEventElapsedTime(&milliseconds, earlier.handle_, handle_),
      "to tell the time between events");
  if (!status.ok()) return status;
  return std::llround(double{milliseconds} * 1e6);
}

CudaStream::CudaStream(std::shared_ptr<const CudaContext> context, cuda::Stream handle)
    : context_(std::move(context)), handle_(handle) {}

CudaStream::~CudaStream() {
  const CurrentContext current(*context_);
  context_->functions().cuStreamDestroy_v2(handle_);
}

absl::StatusOr<std::unique_ptr<CudaStream>> CudaStream::Create(
    std::shared_ptr<const CudaContext> context, Priority priority) {
  const CurrentContext current(*context);
  const cuda::Functions& call = context->functions();
  int least = 0;
  int greatest = 0;
  absl::Status status = context->Check(
      call.cuCtxGetStreamPriorityRange(&least, &greatest), "to tell its priorities");
  cuda::Stream handle = nullptr;
  if (status.ok()) {
    status = context->Check(call.cuStreamCreateWithPriority(
                                &handle, cuda::kStreamNonBlocking,
                                priority == Priority::kGreatest ? greatest : least),
                            "to make a stream");
  }
  if (!status.ok()) return status;
  return std::unique_ptr<CudaStream>(new CudaStream(std::move(context), handle));
}

absl::Status CudaStream::Synchronize() const {
  return worker::Synchronize(*context_, handle_);
}

absl::Status Synchronize(const CudaContext& context, cuda::Stream stream) {
  const CurrentContext current(context);
  const BesideCaptures beside(context);
  return context.Check(context.functions().cuStreamSynchronize(stream),
                       "while it worked");
}

absl::Status StreamOrder::Order(cuda::Stream earlier, cuda::Stream later) {
  if (event_ == nullptr) {
    absl::StatusOr<std::unique_ptr<CudaEvent>> event = CudaEvent::Create(context_);
    if (!event.ok()) return event.status();
    event_ = *std::move(event);
  }
  absl::Status status = event_->Record(earlier);
  return status.ok() ? event_->Precede(later) : status;
}

}  // namespace evenpack::worker
