// How a Job comes from the store, at first and after a commit that failed.
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/control/job.h"
#include "server/control/store_failure.h"
#include "server/core/engine/replay.h"
#include "server/runtime/log.h"
#include "server/runtime/status_detail.h"
#include "server/store/shared_store.h"

namespace evenpack {
namespace {

absl::Status Unreadable(const absl::Status& cause) {
  return StoreFailure("the job can't be read back after a failure", cause);
}

absl::Status Unrecovered(const absl::Status& cause) {
  if (cause.ok()) return cause;
  absl::Status told = StoreFailure("the job can't be recovered", cause);
  if (!IsStoreFailure(told)) return told;
  // Where a disk is at fault each try may take long, and callers do try again.
  return StoreFailure("the job can't be recovered before the server is started again",
                      cause);
}

absl::Status ReadAnew(const std::string& job) {
  return absl::UnavailableError(
      absl::StrCat("job: '", job,
                   "' was read anew; open the stream again, which tells the number of "
                   "its next document"));
}

}  // namespace

absl::Status Job::CheckAlive() {
  if (removing_ || paused_ || abandoned_) return JobNotFound(name_);
  if (stale_) {
    if (absl::Status status = Reload(); !status.ok()) return Unreadable(status);
    stale_ = false;
    if (abandoned_) return JobNotFound(name_);
    if (state_.created) ReleaseProducers();
  }
  return broken_;
}

void Job::OnCommitFailed(const absl::Status& status) {
  // Another server leads it: the store has told, or is about to. Or made it.
  if (absl::IsAborted(status) || absl::IsAlreadyExists(status)) return Abandon();
  MutexLock lock(mutex_);
  ++incarnation_;
  removing_ = false;
  const absl::Status read = Reload();
  stale_ = !read.ok();
  if (!stale_ && !abandoned_ && state_.created) ReleaseProducers();
  // For as long as that took another server may lead the job, and have more steps.
  if (stale_ && absl::IsUnknown(status)) shown_.EndThoseThatWait(Unreadable(read));
}

absl::Status Job::CheckCommitted(absl::Status& unread) {
  absl::Status status = CheckShown();
  if (status.ok()) unread = CheckReach();
  if (status.ok() || !stale_ || removing_ || paused_ || abandoned_) return status;
  // What can never be read stops, as it does where a server begins with it.
  if (!IsStoreFailure(status) || !shown_.IsShown()) return status;
  unread = std::move(status);
  return absl::OkStatus();
}

absl::Status Job::CheckReach() const {
  SharedStore* const shared = environment_.store.Shared();
  if (shared == nullptr || !shared->IsCutOff()) return absl::OkStatus();
  return StoreFailure("another server may lead the job by now",
                      absl::UnavailableError("store: the database can't be reached"));
}

void Job::EndThoseThatWait() {
  const absl::Status why = CheckReach();
  // It has been reached since.
  if (why.ok()) return;
  shown_.EndThoseThatWait(why);
  Wake(shown_.TakeWoken());
  EndProducers(why);
  Wake(groups_.EndThoseThatWait(why));
}

absl::Status Job::Recover() { return RecoverFrom(environment_.store.Load(name_)); }

absl::Status Job::RecoverFrom(const absl::StatusOr<StoredJob>& stored) {
  MutexLock lock(mutex_);
  absl::Status status = LoadFrom(stored);
  if (status.ok() && state_.created) status = RestoreShown();
  broken_ = Unrecovered(status);
  shown_records_ = records_;
  return broken_;
}

absl::Status Job::Reload() {
  if (absl::Status status = Load(); !status.ok()) return status;
  const uint64_t shown = shown_records_;
  if (abandoned_ || records_ == shown) return absl::OkStatus();
  const bool went_back = records_ < shown;
  Log(went_back ? LogLevel::kError : LogLevel::kWarning,
      went_back ? "store went back" : "commit stands after all",
      {{"job", name_},
       {"records", absl::StrCat(records_)},
       {"were", absl::StrCat(shown)}});
  shown_records_ = records_;
  absl::Status status = RestoreShown();
  if (!status.ok()) broken_ = std::move(status);
  environment_.pool.Run([self = shared_from_this(), went_back] {
    self->AfterCommit();
    // It may have gone back to a checkpoint.
    if (!went_back) self->EndProducers(ReadAnew(self->name_));
  });
  return absl::OkStatus();
}

absl::Status Job::Load() { return LoadFrom(environment_.store.Load(name_)); }

absl::Status Job::LoadFrom(const absl::StatusOr<StoredJob>& stored) {
  if (absl::IsAborted(stored.status()) ||
      (absl::IsNotFound(stored.status()) && shown_.IsShown())) {
    // Another server leads it, or has removed it.
    Abandon();
    return absl::OkStatus();
  }
  if (!stored.ok() && !absl::IsNotFound(stored.status())) return stored.status();
  const StoredJob none;
  const StoredJob& held = stored.ok() ? *stored : none;
  absl::StatusOr<JobState> state =
      Replay(held.snapshot, held.snapshot_records, held.records, &let_go_epoch_);
  if (absl::IsFailedPrecondition(state.status())) {
    SharedStore* const shared = environment_.store.Shared();
    if (shared == nullptr) return WithDetail(state.status(), {kStoreOtherVersion, {}});
    // A newer server may lead the job soon.
    shared->CannotRead(name_);
  }
  if (!state.ok()) return state.status();
  state_ = *std::move(state);
  of_waiting_ = KnownOfWaiting::kNothing;
  records_ = held.snapshot_records + held.records.size();
  snapshot_bytes_ = held.snapshot.size();
  bytes_since_snapshot_ = 0;
  for (const std::string& record : held.records) {
    bytes_since_snapshot_ += record.size();
  }
  if (!state_.created) return absl::OkStatus();
  spec_ = std::make_shared<const JobSpec>(state_.spec);
  return tokens_.Load(*spec_, held.tokens, environment_.payload_root);
}

absl::Status Job::RestoreShown() {
  if (absl::Status status = shown_.Restore(state_, spec_, tokens_, let_go_epoch_,
                                           environment_.clock.Now());
      !status.ok()) {
    return status;
  }
  recorder_.Reshape(spec_, state_.position.next_step);
  latency_.Withdraw(state_.position.next_step);
  calibration_.Begin(state_.epoch);
  return absl::OkStatus();
}

}  // namespace evenpack
