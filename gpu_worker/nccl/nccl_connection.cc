#include "gpu_worker/nccl/nccl_connection.h"

#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

namespace evenpack::worker {
namespace {

// About a millisecond of them. Of a communicator that doesn't block, NCCL 2.28 begins
// every group of messages from a new thread (src/group.cc, ncclGroupEndInternal), which
// takes tens of microseconds: no time to sleep in.
constexpr int kEagerLooks = 2000;

}  // namespace

NcclConnection::NcclConnection(std::shared_ptr<const NcclLibrary> library,
                               std::shared_ptr<const CudaContext> context,
                               const NcclSeat& seat, const NcclTiming& timing)
    : library_(std::move(library)),
      context_(std::move(context)),
      seat_(seat),
      timing_(timing) {}

NcclConnection::~NcclConnection() { Abort(absl::CancelledError("it was given up")); }

absl::StatusOr<std::unique_ptr<NcclConnection>> NcclConnection::Connect(
    std::shared_ptr<const NcclLibrary> library,
    std::shared_ptr<const CudaContext> context, const nccl::UniqueId& id,
    const NcclSeat& seat, const NcclTiming& timing, const std::stop_token& stop) {
  std::unique_ptr<NcclConnection> connection(
      new NcclConnection(std::move(library), std::move(context), seat, timing));
  absl::Status status = connection->Begin(id);
  if (status.ok()) {
    status = connection->AwaitProgress(timing.connect_timeout, "to connect", stop);
  }
  if (!status.ok()) {
    connection->Abort(status);
    return status;
  }
  return connection;
}

absl::Status NcclConnection::Begin(const nccl::UniqueId& id) {
  nccl::Config config;
  config.blocking = 0;
  const CurrentContext current(*context_);
  MutexLock lock(mutex_);
  const nccl::Result result = library_->functions().ncclCommInitRankConfig(
      &handle_, static_cast<int>(seat_.ranks), id, static_cast<int>(seat_.rank),
      &config);
  return Judge(result, "to connect");
}

absl::Status NcclConnection::Judge(nccl::Result result, absl::string_view what) const {
  absl::Status status = library_->Check(result, what);
  if (status.ok()) return status;
  const char* const details = library_->functions().ncclGetLastError(handle_);
  return {status.code(), absl::StrCat("cp_rank ", seat_.rank, " of ", seat_.ranks, ": ",
                                      status.message(), details == nullptr ? "" : "; ",
                                      details == nullptr ? "" : details)};
}

std::optional<absl::Status> NcclConnection::Progress(absl::string_view what) {
  MutexLock lock(mutex_);
  if (!reason_.ok()) return reason_;
  nccl::Result found = nccl::kSuccess;
  const nccl::Result asked =
      library_->functions().ncclCommGetAsyncError(handle_, &found);
  const nccl::Result result = asked == nccl::kSuccess ? found : asked;
  if (result == nccl::kInProgress) return std::nullopt;
  return Judge(result, what);
}

absl::Status NcclConnection::AwaitProgress(std::chrono::nanoseconds timeout,
                                           absl::string_view what,
                                           const std::stop_token& stop) {
  const Clock::TimePoint end = timing_.After(timeout);
  for (int look = 0;; ++look) {
    if (stop.stop_requested()) return absl::CancelledError("connecting was given up");
    if (const auto done = Progress(what); done.has_value()) return *done;
    if (timing_.clock->Now() >= end) {
      return absl::UnavailableError(absl::StrCat(
          "cp_rank ", seat_.rank, " of ", seat_.ranks, ": NCCL failed ", what,
          " within ",
          std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count(),
          " ms: a peer does not take part"));
    }
    if (look < kEagerLooks) {
      std::this_thread::yield();
      continue;
    }
    MutexLock lock(mutex_);
    if (reason_.ok()) ended_.WaitFor(mutex_, timing_.poll_interval);
  }
}

absl::Status NcclConnection::Launch(const ExchangePlan& plan, cuda::Stream stream) {
  if (plan.sends.empty() && plan.receives.empty()) return reason();
  absl::Status status;
  {
    MutexLock lock(mutex_);
    while (aborting_) ended_.Wait(mutex_);
    if (!reason_.ok()) return reason_;
    status = Judge(LaunchLocked(plan, stream), "to begin an exchange");
  }
  if (status.ok()) {
    status = AwaitProgress(timing_.exchange_timeout, "to begin an exchange");
  }
  if (!status.ok()) Abort(status);
  return status.ok() ? status : reason();
}

nccl::Result NcclConnection::LaunchLocked(const ExchangePlan& plan,
                                          cuda::Stream stream) {
  const CurrentContext current(*context_);
  const nccl::Functions& call = library_->functions();
  nccl::Result result = call.ncclGroupStart();
  if (result != nccl::kSuccess) return result;
  const auto failed = [&result] {
    return result != nccl::kSuccess && result != nccl::kInProgress;
  };
  for (const Message& message : plan.receives) {
    if (failed()) break;
    result = call.ncclRecv(message.data, message.bytes, nccl::kByte,
                           static_cast<int>(message.peer), handle_, stream);
  }
  for (const Message& message : plan.sends) {
    if (failed()) break;
    result = call.ncclSend(message.data, message.bytes, nccl::kByte,
                           static_cast<int>(message.peer), handle_, stream);
  }
  // A group that was begun is ended, whatever is in it.
  const nccl::Result ended = call.ncclGroupEnd();
  return failed() ? result : ended;
}

absl::Status NcclConnection::Check() {
  absl::Status status;
  {
    MutexLock lock(mutex_);
    if (!reason_.ok()) return reason_;
    nccl::Result found = nccl::kSuccess;
    const nccl::Result asked =
        library_->functions().ncclCommGetAsyncError(handle_, &found);
    status = Judge(asked == nccl::kSuccess ? found : asked, "in an exchange");
  }
  if (status.ok()) return status;
  Abort(status);
  return reason();
}

absl::Status NcclConnection::reason() {
  MutexLock lock(mutex_);
  return reason_;
}

void NcclConnection::Abort(const absl::Status& reason) {
  nccl::Communicator handle = nullptr;
  {
    MutexLock lock(mutex_);
    while (aborting_) ended_.Wait(mutex_);
    if (!reason_.ok()) return;
    reason_ = reason;
    aborting_ = true;
    handle = std::exchange(handle_, nullptr);
  }
  ended_.SignalAll();
  End(handle, NcclEnd::kAbort, timing_.After(timing_.abort_timeout));
  MutexLock lock(mutex_);
  aborting_ = false;
  ended_.SignalAll();
}

void NcclConnection::Close() {
  const Clock::TimePoint until = timing_.After(timing_.close_timeout);
  const CurrentContext current(*context_);
  absl::Status status;
  {
    MutexLock lock(mutex_);
    if (!reason_.ok()) return;
    status = Judge(library_->functions().ncclCommFinalize(handle_), "to end");
  }
  if (status.ok()) status = AwaitProgress(timing_.close_timeout, "to end");
  if (!status.ok()) return Abort(status);
  nccl::Communicator handle = nullptr;
  {
    MutexLock lock(mutex_);
    if (!reason_.ok()) return;
    reason_ = absl::CancelledError("it was closed");
    handle = std::exchange(handle_, nullptr);
  }
  ended_.SignalAll();
  End(handle, NcclEnd::kDestroy, until);
}

void NcclConnection::End(nccl::Communicator handle, NcclEnd end,
                         Clock::TimePoint until) const {
  if (handle != nullptr) EndNccl({library_, context_, handle}, end, timing_, until);
}

}  // namespace evenpack::worker
