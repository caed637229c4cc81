#include "gpu_worker/sidecar/sidecar.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/runtime/log.h"

namespace evenpack::worker {
namespace {

RankWorkerOptions OptionsOf(const SessionRequest& request,
                            const SidecarOptions& options) {
  RankWorkerOptions of;
  of.steps = request.steps;
  of.member = request.member;
  of.shape = request.shape;
  of.executor.head_groups = request.head_groups;
  of.patience = options.patience;
  return of;
}

}  // namespace

void Sidecar::OnAttached(const AttachedTrainer& trainer, std::shared_ptr<Arena> arena) {
  Log(LogLevel::kInfo, "a trainer is attached",
      {{"process", absl::StrCat(trainer.process)},
       {"arena_bytes", absl::StrCat(arena->data_bytes())}});
  MutexLock lock(mutex_);
  trainer_ = trainer;
  used_ = false;
  arena_ = std::move(arena);
}

void Sidecar::OnDetached() {
  std::unique_ptr<WorkerSession> ended;
  {
    MutexLock lock(mutex_);
    trainer_.reset();
    if (opening_.has_value()) opening_->request_stop();
    while (opening_.has_value() || closing_ > 0) changed_.Wait(mutex_);
    ended = TakeSession();
    arena_.reset();
  }
  ended.reset();
  Log(LogLevel::kInfo, "the trainer is gone");
}

absl::Status Sidecar::CheckToken(const std::string& token) const {
  if (trainer_.has_value() &&
      std::equal(token.begin(), token.end(), trainer_->token.begin(),
                 trainer_->token.end(),
                 [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; })) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(
      "token: it is not accepted; accepted: that which the attach socket gave the "
      "process that is attached");
}

uint64_t Sidecar::ScratchBytes() const {
  return options_.memory_bytes - std::min(options_.memory_bytes, arena_->data_bytes());
}

absl::StatusOr<Sidecar::Opening> Sidecar::BeginOpening(const std::string& token) {
  MutexLock lock(mutex_);
  if (absl::Status status = CheckToken(token); !status.ok()) return status;
  if (opening_.has_value() || used_) {
    return absl::FailedPreconditionError(
        "the arena has, or had, a session; accepted: one for each time that a trainer "
        "attaches");
  }
  opening_.emplace();
  return Opening{arena_, ScratchBytes(), opening_->get_token()};
}

absl::StatusOr<std::unique_ptr<WorkerSession>> Sidecar::NewSession(
    const SessionRequest& request, const Opening& opening) {
  // gRPC would pass over what the standard library throws, and nobody end the opening.
  try {
    absl::StatusOr<std::unique_ptr<RankForm>> rank =
        options_.form->OpenRank(opening.scratch_bytes);
    if (!rank.ok()) return rank.status();
    return WorkerSession::Open(client_, OptionsOf(request, options_), opening.arena,
                               {*std::move(rank), opening.scratch_bytes}, opening.stop);
  } catch (const std::exception& error) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the system has no memory or threads left for a session: ", error.what()));
  }
}

absl::StatusOr<OpenedSession> Sidecar::EndOpening(
    absl::StatusOr<std::unique_ptr<WorkerSession>> session) {
  MutexLock lock(mutex_);
  const bool unwanted = opening_->stop_requested();
  opening_.reset();
  changed_.SignalAll();
  absl::Status gone = absl::UnavailableError(
      "the worker ends, or the trainer that asked for the session is gone");
  if (!session.ok()) return unwanted ? gone : session.status();
  // Also one that nobody wants any more: OnDetached(), which waits, ends it.
  session_ = *std::move(session);
  used_ = true;
  if (unwanted) return gone;
  return OpenedSession{session_->cp_size(), ScratchBytes()};
}

absl::StatusOr<OpenedSession> Sidecar::OpenSession(const std::string& token,
                                                   const SessionRequest& request) {
  const absl::StatusOr<Opening> opening = BeginOpening(token);
  if (!opening.ok()) return opening.status();
  return EndOpening(NewSession(request, *opening));
}

std::unique_ptr<WorkerSession> Sidecar::TakeSession() {
  if (session_ != nullptr) {
    const RankFigures figures = session_->figures();
    ended_work_.Add(figures.work);
    ended_losses_ += figures.group.losses;
  }
  return std::move(session_);
}

class Sidecar::Closing {
 public:
  Closing(Sidecar& sidecar, std::unique_ptr<WorkerSession> session)
      : sidecar_(sidecar), session_(std::move(session)) {}
  ~Closing() {
    session_.reset();
    MutexLock lock(sidecar_.mutex_);
    --sidecar_.closing_;
    sidecar_.changed_.SignalAll();
  }
  Closing(const Closing&) = delete;
  Closing& operator=(const Closing&) = delete;

  void Close() {
    if (session_ != nullptr) session_->Close();
  }

 private:
  Sidecar& sidecar_;
  std::unique_ptr<WorkerSession> session_;
};

absl::Status Sidecar::CloseSession(const std::string& token) {
  std::optional<Closing> closing;
  {
    MutexLock lock(mutex_);
    if (absl::Status status = CheckToken(token); !status.ok()) return status;
    ++closing_;
    closing.emplace(*this, TakeSession());
  }
  closing->Close();
  return absl::OkStatus();
}

SidecarStatus Sidecar::status() const {
  MutexLock lock(mutex_);
  SidecarStatus status;
  status.trainer = trainer_;
  status.arena_bytes = arena_ == nullptr ? 0 : arena_->data_bytes();
  if (session_ != nullptr) {
    const client::ConsumerOptions& steps = session_->options().steps;
    status.session = {steps.job, steps.dp_rank, steps.cp_rank.value_or(0),
                      session_->cp_size(), session_->progress()};
    status.figures = session_->figures();
  }
  status.figures.work.Add(ended_work_);
  status.figures.group.losses += ended_losses_;
  return status;
}

}  // namespace evenpack::worker
