// How a Job comes from the store, at first and after a commit that failed.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/control/job.h"
#include "server/control/store_failure.h"
#include "server/core/engine/replay.h"
#include "server/runtime/error_reason.h"
#include "server/runtime/log.h"
#include "server/runtime/status_detail.h"
#include "server/store/shared_store.h"

namespace evenpack {
namespace {

absl::Status Unreadable(const absl::Status& cause) {
  return StoreFailure("the job can't be read back after a failure", cause);
}

// Whether the next try may have what this one did not.
bool MayPass(const absl::Status& cause) {
  return !cause.ok() && !absl::IsDataLoss(cause) && !absl::IsFailedPrecondition(cause);
}

absl::Status Unrecovered(const absl::Status& cause) {
  if (cause.ok()) return cause;
  return StoreFailure(MayPass(cause)
                          ? "the job can't be recovered yet, which is tried again"
                          : "the job can't be recovered",
                      cause);
}

absl::Status MayBeLedElsewhere(absl::string_view because) {
  return StoreFailure("another server may lead the job by now",
                      absl::UnavailableError(absl::StrCat("store: ", because)));
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
  return stale_ ? why_stale_ : broken_;
}

bool Job::IsBroken() const {
  return stale_ ? absl::IsDataLoss(why_stale_) : !broken_.ok() && !unread_;
}

void Job::OnCommitFailed(const absl::Status& status) {
  // Another server leads it: the store has told, or is about to. Or made it.
  if (absl::IsAborted(status) || absl::IsAlreadyExists(status)) return Abandon();
  std::optional<uint64_t> incarnation;
  {
    MutexLock lock(mutex_);
    ++incarnation_;
    removing_ = false;
    going_back_ = 0;
    // What was never read has nothing to go back to.
    if (!broken_.ok() && !shown_.IsShown()) return;
    stale_ = true;
    why_stale_ = Unreadable(absl::UnavailableError("it is being read"));
    incarnation = BeginReading(/*again=*/false);
  }
  if (incarnation.has_value()) Read(*incarnation);
  MutexLock lock(mutex_);
  // For as long as that took another server may lead the job, and have more steps.
  if (stale_ && absl::IsUnknown(status)) shown_.EndThoseThatWait(why_stale_);
}

void Job::ReadBack() {
  if (stale_) ReadIfDue(/*again=*/false);
}

bool Job::ReadAgain() {
  ReadIfDue(/*again=*/true);
  return IsToBeRead();
}

void Job::ReadIfDue(bool again) {
  std::optional<uint64_t> incarnation;
  {
    MutexLock lock(mutex_);
    incarnation = BeginReading(again);
  }
  if (incarnation.has_value()) Read(*incarnation);
}

bool Job::IsToBeRead() const {
  // Of most jobs it is known without their locks.
  if (!unread_ && !stale_) return false;
  MutexLock lock(mutex_);
  return !removing_ && !abandoned_ && LacksStore();
}

bool Job::LacksStore() const {
  return unread_ || (stale_ && IsStoreFailure(why_stale_));
}

std::optional<uint64_t> Job::BeginReading(bool again) {
  // Damage stays, and to find it again takes as long.
  const bool due = again ? LacksStore() : stale_ && !absl::IsDataLoss(why_stale_);
  if (!due || reading_ || removing_ || paused_ || abandoned_) return std::nullopt;
  reading_ = true;
  return incarnation_.load();
}

void Job::Read(uint64_t incarnation) {
  EndReading(incarnation, MakeOf(environment_.store.Load(name_)));
}

void Job::EndReading(uint64_t incarnation, ReadJob read) {
  MutexLock lock(mutex_);
  reading_ = false;
  // A commit failed meanwhile, or the job is to go, or is led elsewhere.
  if (incarnation != incarnation_ || removing_ || abandoned_) return;
  if (unread_) {
    if (LoadFirst(std::move(read)).ok() && !abandoned_) {
      Log(LogLevel::kInfo, "job recovered", {{"job", name_}});
    }
    return;
  }
  const absl::Status status = Reload(std::move(read));
  stale_ = !status.ok();
  if (stale_) {
    why_stale_ = Unreadable(status);
  } else if (!abandoned_ && state_.created) {
    ReleaseProducers();
  }
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
  return MayBeLedElsewhere("the database can't be reached");
}

absl::Status Job::CheckLead() const {
  SharedStore* const shared = environment_.store.Shared();
  if (shared == nullptr || shared->IsSureToLead()) return absl::OkStatus();
  return MayBeLedElsewhere("the database has not renewed this server's lease in time");
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

absl::Status Job::RecoverFrom(absl::StatusOr<StoredJob> stored) {
  ReadJob read = MakeOf(std::move(stored));
  MutexLock lock(mutex_);
  return LoadFirst(std::move(read));
}

absl::Status Job::LoadFirst(ReadJob read) {
  absl::Status status = Load(std::move(read));
  unread_ = MayPass(status);
  if (status.ok() && state_.created) status = RestoreShown();
  broken_ = Unrecovered(status);
  shown_records_ = records_;
  return broken_;
}

absl::Status Job::Reload(ReadJob read) {
  if (absl::Status status = Load(std::move(read)); !status.ok()) return status;
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

Job::ReadJob Job::MakeOf(absl::StatusOr<StoredJob> stored) {
  ReadJob read;
  read.stored = stored.status();
  if (!stored.ok() && !absl::IsNotFound(stored.status())) {
    read.status = stored.status();
    return read;
  }
  StoredJob held;
  if (stored.ok()) held = *std::move(stored);
  absl::StatusOr<JobState> state =
      Replay(held.snapshot, held.snapshot_records, held.records, &read.let_go_epoch);
  if (!state.ok()) {
    read.status = NotReplayed(state.status());
    return read;
  }
  read.state = *std::move(state);
  read.records = held.snapshot_records + held.records.size();
  read.snapshot_bytes = held.snapshot.size();
  for (const std::string& record : held.records) {
    read.bytes_since_snapshot += record.size();
  }
  // The tokens, and what is to be shown, take as much again.
  held.snapshot = std::string();
  held.records = std::vector<std::string>();
  if (!read.state.created) return read;
  read.spec = std::make_shared<const JobSpec>(read.state.spec);
  read.status = ReadTokens(std::move(held.tokens), read.tokens);
  return read;
}

absl::Status Job::NotReplayed(const absl::Status& why) const {
  if (!absl::IsFailedPrecondition(why)) return why;
  SharedStore* const shared = environment_.store.Shared();
  if (shared == nullptr) return WithDetail(why, {kStoreOtherVersion, {}});
  // A newer server may lead the job soon.
  shared->CannotRead(name_);
  return why;
}

absl::Status Job::ReadTokens(std::vector<StoredTokens> stored, TokenBook& tokens) {
  std::vector<TokenBook::Batch> held;
  {
    MutexLock lock(mutex_);
    held = tokens_.HeldOf(stored);
  }
  absl::StatusOr<TokenBook> read =
      JobTokens::Read(std::move(stored), held, environment_.payload_root);
  if (!read.ok()) return read.status();
  tokens = *std::move(read);
  return absl::OkStatus();
}

absl::Status Job::Load(ReadJob read) {
  if (absl::IsAborted(read.stored) ||
      (absl::IsNotFound(read.stored) && shown_.IsShown())) {
    // Another server leads it, or has removed it.
    Abandon();
    return absl::OkStatus();
  }
  if (!read.status.ok()) return read.status;
  state_ = std::move(read.state);
  let_go_epoch_ = read.let_go_epoch;
  of_waiting_ = {};
  records_ = read.records;
  snapshot_bytes_ = read.snapshot_bytes;
  bytes_since_snapshot_ = read.bytes_since_snapshot;
  if (!state_.created) return absl::OkStatus();
  spec_ = std::move(read.spec);
  tokens_.Load(*spec_, std::move(read.tokens));
  return absl::OkStatus();
}

absl::Status Job::RestoreShown() {
  if (absl::Status status = shown_.Restore(state_, spec_, tokens_, let_go_epoch_,
                                           environment_.clock.Now());
      !status.ok()) {
    return status;
  }
  // Of what was shown before, any step may have been decided otherwise since.
  recorder_.Reshape(spec_, 0);
  latency_.Withdraw(0);
  calibration_.Begin(state_.epoch);
  return absl::OkStatus();
}

}  // namespace evenpack
