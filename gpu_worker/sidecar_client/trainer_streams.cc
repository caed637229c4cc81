#include "gpu_worker/sidecar_client/trainer_streams.h"

#include <algorithm>
#include <utility>

#include "gpu_worker/cuda/cuda_graph.h"

namespace evenpack::worker {
namespace {

struct ReadySignal {
  SidecarLink& link;
  uint64_t value;
};

void SignalReady(void* argument) {
  const std::unique_ptr<ReadySignal> signal(static_cast<ReadySignal*>(argument));
  signal->link.SignalReady(signal->value);
}

}  // namespace

TrainerStreams::TrainerStreams(SidecarLink& link,
                               std::shared_ptr<const CudaContext> context,
                               uint64_t* passed)
    : link_(link),
      context_(std::move(context)),
      events_(context_, CudaEvent::Use::kSleepingAwait),
      passed_(passed),
      thread_([this] { Run(); }) {}

absl::StatusOr<std::unique_ptr<TrainerStreams>> TrainerStreams::Create(
    SidecarLink& link, std::shared_ptr<const CudaContext> context) {
  const CurrentContext current(*context);
  void* passed = nullptr;
  absl::Status status =
      context->Check(context->functions().cuMemHostAlloc(&passed, sizeof(uint64_t),
                                                         cuda::kHostPortable),
                     "to give memory of the host");
  if (!status.ok()) return status;
  *static_cast<uint64_t*>(passed) = 0;
  return std::unique_ptr<TrainerStreams>(
      new TrainerStreams(link, std::move(context), static_cast<uint64_t*>(passed)));
}

TrainerStreams::~TrainerStreams() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
    changed_.SignalAll();
  }
  WakeWaiters(link_.arena().header().completed);
  thread_.join();
  {
    MutexLock lock(mutex_);
    // An error is as good an end.
    for (const auto& given : given_) given->Await().IgnoreError();
  }
  const CurrentContext current(*context_);
  context_->functions().cuMemFreeHost(passed_);
}

absl::Status TrainerStreams::SignalReadyAfter(cuda::Stream stream, uint64_t value) {
  absl::Status status = CheckIsNotCaptured(*context_, stream);
  if (!status.ok()) return status;
  absl::StatusOr<std::unique_ptr<CudaEvent>> after = events_.Take();
  if (!after.ok()) return after.status();
  MutexLock lock(mutex_);
  status = FollowSignals(stream);
  if (!status.ok()) return status;
  auto* const signal = new ReadySignal{link_, value};  // the host function deletes it
  const CurrentContext current(*context_);
  status = context_->Check(
      context_->functions().cuLaunchHostFunc(stream, &SignalReady, signal),
      "to say when inputs are ready");
  if (!status.ok()) {
    delete signal;
    return status;
  }
  status = signalled_->Record(stream);
  return status.ok() ? Note(stream, *std::move(after)) : status;
}

absl::Status TrainerStreams::FollowSignals(cuda::Stream stream) {
  if (signalled_ != nullptr) return signalled_->Precede(stream);
  absl::StatusOr<std::unique_ptr<CudaEvent>> made = CudaEvent::Create(context_);
  if (!made.ok()) return made.status();
  signalled_ = *std::move(made);
  return absl::OkStatus();
}

absl::Status TrainerStreams::Precede(uint64_t number, cuda::Stream stream) {
  absl::Status status = link_.CheckSubmitted(number);
  status.Update(CheckIsNotCaptured(*context_, stream));
  if (!status.ok()) return status;
  absl::StatusOr<std::unique_ptr<CudaEvent>> after = events_.Take();
  if (!after.ok()) return after.status();
  const CurrentContext current(*context_);
  status = context_->Check(context_->functions().cuStreamWaitValue64_v2(
                               stream, reinterpret_cast<cuda::DevicePointer>(passed_),
                               number, cuda::kWaitAtLeast),
                           "to order a stream behind a submission");
  if (!status.ok()) return status;
  MutexLock lock(mutex_);
  wanted_ = std::max(wanted_, number);
  changed_.SignalAll();
  return Note(stream, *std::move(after));
}

absl::Status TrainerStreams::Note(cuda::Stream stream,
                                  std::unique_ptr<CudaEvent> event) {
  if (absl::Status status = event->Record(stream); !status.ok()) return status;
  while (!given_.empty() && given_.front()->IsReached().value_or(false)) {
    events_.GiveBack(std::move(given_.front()));
    given_.pop_front();
  }
  given_.push_back(std::move(event));
  return absl::OkStatus();
}

void TrainerStreams::Run() {
  const std::atomic_ref<uint64_t> passed(*passed_);
  ArenaHeader& header = link_.arena().header();
  const auto over = [&] {
    return ending_ || header.ended.value.load(std::memory_order_acquire) != 0 ||
           link_.IsGone();
  };
  for (uint64_t next = 1;;) {
    {
      MutexLock lock(mutex_);
      while (wanted_ < next && !ending_) changed_.Wait(mutex_);
    }
    if (!AwaitValue(header.completed, next, over)) break;
    const uint64_t completed = header.completed.value.load(std::memory_order_acquire);
    passed.store(completed, std::memory_order_release);
    next = completed + 1;
  }
  passed.store(kPassedAll, std::memory_order_release);
}

}  // namespace evenpack::worker
