// A job of the server: the engine's state behind a lock, and those who wait for it.
//
//   Submit: lock { Decide -> Apply -> form steps -> Committer::Enqueue }
//   commit: ShownJob takes steps, marks, shape -> reply -> wake subscribers
#ifndef EVENPACK_SERVER_CONTROL_JOB_H_
#define EVENPACK_SERVER_CONTROL_JOB_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/control/committer.h"
#include "server/control/cost_calibration.h"
#include "server/control/job_change.h"
#include "server/control/job_observation.h"
#include "server/control/job_recorder.h"
#include "server/control/job_status.h"
#include "server/control/job_tokens.h"
#include "server/control/latency_window.h"
#include "server/control/room_waiters.h"
#include "server/control/shown_job.h"
#include "server/control/step_forecast.h"
#include "server/core/engine/command.h"
#include "server/core/engine/event.h"
#include "server/core/engine/job_state.h"
#include "server/core/engine/step_formation.h"
#include "server/metrics/job_figures.h"
#include "server/runtime/clock.h"
#include "server/runtime/mutex.h"
#include "server/runtime/worker_pool.h"
#include "server/sessions/group_table.h"
#include "server/sessions/published_step.h"
#include "server/sessions/subscription_table.h"
#include "server/store/state_store.h"

namespace evenpack {

// What every job of a server uses; all of it outlives the jobs.
struct ControlEnvironment {
  Committer& committer;
  StateStore& store;
  // Wakes subscribers and producers.
  WorkerPool& pool;
  const Clock& clock;
  // Whether a job of this spec has its payload by value.
  JobTokens::Travel tokens_travel = nullptr;
  PayloadRoot payload_root = {};
  CalibrationTerms calibration = {};
  // What the prediction of a job's steps is made of; null: there is none.
  ForecastTermsOf forecast = nullptr;
};

// Thread-safe. Callbacks run once, under no lock, from the committer's thread or, where
// a request is refused, before the call returns. Nothing here waits, but for the store,
// where that failed and the job has to be read back first: one call does so at a time,
// without the job's lock, and the others are refused. Describe, Observe and Figures
// never do (docs/adr/0138).
class Job final : public CommitParticipant, public std::enable_shared_from_this<Job> {
 public:
  using Done = std::function<void(const absl::Status&)>;
  template <typename T>
  using DoneWith = std::function<void(const absl::StatusOr<T>&)>;

  Job(std::string name, ControlEnvironment environment);

  const std::string& name() const { return name_; }

  // The state that the store has. Before anything else of a stored job.
  absl::Status Recover();
  // The same of what StateStore::Load returned.
  absl::Status RecoverFrom(absl::StatusOr<StoredJob> stored);
  // Whether the store failed to give it, at first or since, which may pass; and the
  // same once it was read again, unless somebody does so.
  bool IsToBeRead() const;
  bool ReadAgain();
  // Whether since the last time somebody was refused who would have been told of it,
  // had it been read back.
  bool TakeWanted() { return wanted_.exchange(false); }

  // Decides and commits; then forms what steps can be formed. FormStep is not for
  // callers. Errors as Decide() has them, with details; UNAVAILABLE where the store
  // failed.
  void Submit(const Command& command, const Done& done);
  // The same in two halves, between which a caller can get on with what comes next:
  // refused, or else `done` comes of Flush or, as Committer has it, FlushSoon, and then
  // `listener` is told.
  absl::Status Enqueue(const Command& command, Done done,
                       std::shared_ptr<CommitListener> listener);
  // The same with documents of `stream`, or false, and nothing is done, where that is
  // full and WaitForRoom would wait.
  absl::StatusOr<bool> EnqueueIfRoom(std::optional<size_t> stream,
                                     const Command& command, Done done,
                                     std::shared_ptr<CommitListener> listener);
  void Flush();
  void FlushSoon();
  // As Submit, and tells of the job as the command left it: whoever leads it by then.
  void Change(const Command& command, const DoneWith<JobStatus>& done);
  // The command for the given next step to be decided, such as an UpdateJob.
  using CommandAt = std::function<Command(uint64_t next_step)>;
  // Likewise. ABORTED where the epoch is another than expected.
  void Reconfigure(const CommandAt& command, std::optional<uint64_t> expected_epoch,
                   const DoneWith<JobStatus>& done);
  // From here on everything is NOT_FOUND, and calls end so, once that is committed.
  void Remove(const Done& done);

  // Before a hand-over: everything is refused as for a job that isn't here, until GoOn
  // or Abandon. `settled` once what was decided before is committed, or never will be.
  void Pause(const Done& settled);
  void GoOn();
  // Another server leads the job. From here on everything is NOT_FOUND, and what was
  // not committed never will be. Waits for nothing, not even for the job's lock.
  void Abandon();
  bool abandoned() const { return abandoned_; }
  // After Abandon: calls end, NOT_FOUND.
  void EndCalls();

  // Once the store is cut off from the others (SharedStore::IsCutOff): subscriptions
  // end behind the last step that is committed here, producers' calls at once, and
  // those of groups of which a rank isn't here, with UNAVAILABLE. Subscribers and
  // producers that come are told so in place of waiting, members of groups when this is
  // called again.
  void EndThoseThatWait();

  // Answered when everything that it tells is committed, and refused where another
  // server may have changed it by then (docs/adr/0146). OUT_OF_RANGE as
  // CheckpointAfter.
  void Checkpoint(uint64_t step, const DoneWith<JobCheckpoint>& done);
  // Likewise.
  void Describe(const DoneWith<JobStatus>& done);
  // A producer begins. NOT_FOUND: no such stream.
  void OpenStream(const std::string& stream, const DoneWith<StreamPosition>& done);
  // None where the stream has room, or the job can't be read back; else `callback` runs
  // once it has room, or the job is removed, and the number is for StopWaiting.
  std::optional<uint64_t> WaitForRoom(size_t stream, RoomWaiters::Callback callback);
  void StopWaiting(uint64_t number);
  // A producer's call begins, and ends with the number that it got. `end` runs with
  // what the call is to end with: NOT_FOUND once the job is removed, UNAVAILABLE once
  // it went back to a checkpoint, so that nothing that the producer was told before
  // holds.
  uint64_t AddProducer(Done end);
  void RemoveProducer(uint64_t number);

  // As SubscriptionTable has them. Of a job that can't be read back after a failure
  // (docs/adr/0097) what is committed is sent to whoever shows by a digest that it is
  // behind it; that failure ends the call then, and refuses all others.
  absl::StatusOr<Subscribed> Subscribe(const SubscribeRequest& request,
                                       std::shared_ptr<Subscriber> subscriber);
  NextMessage Next(Subscription& subscription);
  absl::Status Received(Subscription& subscription, uint64_t step);
  // FAILED_PRECONDITION where the subscription doesn't send durable marks. The answer
  // comes through Next(); `done`, once the mark is committed or refused.
  void MarkDurable(const std::shared_ptr<Subscription>& subscription, uint64_t step,
                   uint64_t epoch, const Done& done);
  void Unsubscribe(Subscription& subscription);
  // Whether the job has such a seat in its shape now. FAILED_PRECONDITION: its groups
  // are of another size. INVALID_ARGUMENT: no such dp_rank, or as CheckSeat. Where the
  // job can't be read back, that in place of these.
  absl::Status CheckSeat(const GroupSeat& seat);
  GroupTable& groups() { return groups_; }
  // A step has been handed to the transport; SendStep::ready of it.
  void CountDelivery(Clock::TimePoint ready);

  // In the present epoch; null where the job is not shown, or no more.
  std::shared_ptr<const JobSpec> Spec() const { return shown_.spec(); }
  // A committed step; OUT_OF_RANGE as StepWindow::Find, but as CheckSeat.
  absl::StatusOr<std::shared_ptr<const PublishedStep>> FindStep(uint64_t index);
  // Steps durable at a rank. OUT_OF_RANGE for a rank that there isn't.
  absl::StatusOr<uint64_t> DurableStepsOf(uint32_t dp_rank);
  // The predictions of the micro-batches reported, 0 where the step was let go.
  // OUT_OF_RANGE: a step that isn't decided, a micro-batch that isn't the rank's.
  absl::StatusOr<std::vector<int64_t>> ReportLatency(const LatencyReport& report);
  // What ranks measured of the last `most` steps.
  absl::StatusOr<std::vector<StepLatency>> Latency(size_t most);
  // What they say of the job's costs.
  absl::StatusOr<CalibrationStatus> Calibration();

  JobFigures Figures();
  // What observers see, once all that it tells is committed; from a thread of the pool,
  // so that what they make of it holds up no commit.
  void Observe(const ObservationRange& range, const DoneWith<JobObservation>& done);

  // Of no entry at all, once the job is abandoned.
  uint64_t incarnation() const override {
    return abandoned_ ? kNoIncarnation : incarnation_.load();
  }
  void OnCommitFailed(const absl::Status& status) override;
  void AfterCommit() override;

 private:
  static constexpr uint64_t kNoIncarnation = ~uint64_t{0};

  // What the store has of a job, made a state of.
  struct ReadJob {
    // The store's own, NOT_FOUND where it has none.
    absl::Status stored;
    // OK, or why there is no state.
    absl::Status status;
    JobState state;
    std::optional<uint64_t> let_go_epoch;
    uint64_t records = 0;
    uint64_t snapshot_bytes = 0;
    uint64_t bytes_since_snapshot = 0;
    std::shared_ptr<const JobSpec> spec;
    TokenBook tokens;
  };
  // Under no lock: what makes a job of what is stored may take its time.
  ReadJob MakeOf(absl::StatusOr<StoredJob> stored) EVENPACK_EXCLUDES(mutex_);
  absl::Status NotReplayed(const absl::Status& why) const;
  absl::Status ReadTokens(std::vector<StoredTokens> stored, TokenBook& tokens)
      EVENPACK_EXCLUDES(mutex_);
  absl::Status Load(ReadJob read) EVENPACK_REQUIRES(mutex_);
  // Load, of a job that was not loaded before, and shows it.
  absl::Status LoadFirst(ReadJob read) EVENPACK_REQUIRES(mutex_);
  absl::Status RestoreShown() EVENPACK_REQUIRES(mutex_);
  // Load, and what is shown follows: back, where the store did, as a standby database
  // that was promoted without its last commits; forward, where a commit stands of which
  // that was not known.
  absl::Status Reload(ReadJob read) EVENPACK_REQUIRES(mutex_);
  // None where there is nothing to be read back, or somebody does so; else the caller
  // does, and Read is due. `again`: what IsToBeRead, in place of what is stale.
  std::optional<uint64_t> BeginReading(bool again) EVENPACK_REQUIRES(mutex_);
  void Read(uint64_t incarnation) EVENPACK_EXCLUDES(mutex_);
  void EndReading(uint64_t incarnation, ReadJob read) EVENPACK_EXCLUDES(mutex_);
  void ReadIfDue(bool again) EVENPACK_EXCLUDES(mutex_);
  // Where a commit failed and the job could not be read since: before its state is
  // looked at for anyone who may wait for the store.
  void ReadBack() EVENPACK_EXCLUDES(mutex_);
  // Nothing can be decided any more, whatever the store gives.
  bool IsBroken() const EVENPACK_REQUIRES(mutex_);
  // The store did not give it, which may pass.
  bool LacksStore() const EVENPACK_REQUIRES(mutex_);
  // NOT_FOUND once the job is removed, or not led here; what broke it.
  absl::Status CheckAlive() EVENPACK_REQUIRES(mutex_);
  // CheckAlive, and its creation is committed.
  absl::Status CheckShown() EVENPACK_REQUIRES(mutex_);
  // Whether producers of the stream are to wait. False for what CheckShown refuses.
  bool IsFull(size_t stream) EVENPACK_REQUIRES(mutex_);
  // Why shown_ shows nothing.
  absl::Status WhyNotShown();
  // CheckShown, but OK for what can't be read back after a failure, or is cut off, and
  // `unread` then says so: what was committed before still stands. More may have been
  // committed since, by a server that leads the job meanwhile without this one's
  // knowing.
  absl::Status CheckCommitted(absl::Status& unread) EVENPACK_REQUIRES(mutex_);
  // UNAVAILABLE where the store is cut off.
  absl::Status CheckReach() const;
  // UNAVAILABLE where another server may lead the job already (IsSureToLead).
  absl::Status CheckLead() const;
  // CheckAlive, and there is something to remove.
  absl::Status CheckRemovable() EVENPACK_REQUIRES(mutex_);
  // Decides, applies, forms steps, enqueues. Takes `done` and `entry` where it returns
  // OK, and then has set `as_left`, unless that is null.
  absl::Status Take(const Command& command, CommitEntry& entry, Done& done,
                    JobStatus* as_left = nullptr) EVENPACK_REQUIRES(mutex_);
  absl::Status TakeAndTell(const Command& command, const DoneWith<JobStatus>& done)
      EVENPACK_REQUIRES(mutex_);
  absl::Status DecideAndApply(const Command& command, CommitEntry& entry,
                              JobChange& change) EVENPACK_REQUIRES(mutex_);
  void FormSteps(CommitEntry& entry, JobChange& change) EVENPACK_REQUIRES(mutex_);
  // False where no step can be formed now.
  bool FormOneStep(CommitEntry& entry, JobChange& change) EVENPACK_REQUIRES(mutex_);
  void Record(Event event, CommitEntry& entry) EVENPACK_REQUIRES(mutex_);
  void RecordSnapshot(CommitEntry& entry) EVENPACK_REQUIRES(mutex_);
  CommitEntry NewEntry() EVENPACK_REQUIRES(mutex_);
  void Enqueue(CommitEntry entry, JobChange change, Done done)
      EVENPACK_REQUIRES(mutex_);
  // What an entry's caller is told: where the job is abandoned, that it isn't here,
  // unless the entry may stand, and that its name is taken to who would have made it
  // alone.
  absl::Status Outcome(const absl::Status& committed, bool makes_job = false) const;
  // After what was to be enqueued, where the status is OK.
  void AnswerOrFlush(const absl::Status& status, const Done& done);
  // `done` once everything decided so far is committed.
  void EnqueueBarrier(Done done) EVENPACK_REQUIRES(mutex_);
  // By this entry, in which nothing was decided.
  void EnqueueBarrier(CommitEntry entry, Done done) EVENPACK_REQUIRES(mutex_);
  // The same for who only looks: and CheckLead, after that.
  void EnqueueLook(Done done) EVENPACK_REQUIRES(mutex_);
  void OnCommitted(JobChange change, Clock::TimePoint enqueued);
  // Of a commit by which so many batches stay dropped.
  void ForgetTokens(uint64_t dropped);
  // Those that no step, mark or commit would reach any more, and what they would keep
  // in memory for as long as they last.
  void ReleaseCalls();
  void EndProducers(const absl::Status& status);
  // What is to be said of an ingest before its tokens are read from their file: a small
  // message may name a gigabyte of them.
  absl::Status CheckBeforeReading(const Ingest& ingest) EVENPACK_REQUIRES(mutex_);
  // Whether what was refused was sent to the job as it was before it went back to a
  // checkpoint, which is not committed yet: nobody can know the numbers of after it.
  // Who sent it is told with what producers' calls end with then.
  bool IsOfBefore(const Command& command) EVENPACK_REQUIRES(mutex_);
  void ReleaseProducers() EVENPACK_REQUIRES(mutex_);
  void Wake(std::vector<std::shared_ptr<Subscriber>> subscribers);
  // Once what was decided is committed: an update among it ends the subscription, which
  // is then why.
  void RefuseMark(const std::shared_ptr<Subscription>& subscription,
                  const absl::Status& refusal, const Done& done);
  // Sets the scales of the job's costs, where it does so by itself and it is time.
  void Calibrate();
  JobStatus StatusNow() const EVENPACK_REQUIRES(mutex_);

  const std::string name_;
  const ControlEnvironment environment_;
  JobRecorder recorder_;
  // What was committed. Has locks of its own, as the recorder has.
  ShownJob shown_;
  LatencyWindow latency_;
  CostCalibration calibration_;
  GroupTable groups_;
  std::atomic<uint64_t> incarnation_ = 0;
  std::atomic<bool> abandoned_ = false;
  // Records up to which everything is committed and shown.
  std::atomic<uint64_t> shown_records_ = 0;

  mutable Mutex mutex_;
  // What was decided, committed or about to be.
  JobState state_ EVENPACK_GUARDED_BY(mutex_);
  KnownOfWaiting of_waiting_ EVENPACK_GUARDED_BY(mutex_);
  uint64_t records_ EVENPACK_GUARDED_BY(mutex_) = 0;
  uint64_t bytes_since_snapshot_ EVENPACK_GUARDED_BY(mutex_) = 0;
  uint64_t snapshot_bytes_ EVENPACK_GUARDED_BY(mutex_) = 0;
  // When it was loaded: Replay's.
  std::optional<uint64_t> let_go_epoch_ EVENPACK_GUARDED_BY(mutex_);
  std::shared_ptr<const JobSpec> spec_ EVENPACK_GUARDED_BY(mutex_);
  JobTokens tokens_ EVENPACK_GUARDED_BY(mutex_);
  // Why nothing can be decided any more.
  absl::Status broken_ EVENPACK_GUARDED_BY(mutex_);
  // The store failed to give it at first, which may pass: broken_ says so. Written
  // under the lock.
  std::atomic<bool> unread_ = false;
  // A commit failed and the state could not be loaded since; what is told then. Written
  // under the lock.
  std::atomic<bool> stale_ = false;
  absl::Status why_stale_ EVENPACK_GUARDED_BY(mutex_);
  std::atomic<bool> wanted_ = false;
  // Somebody reads it from the store just now.
  bool reading_ EVENPACK_GUARDED_BY(mutex_) = false;
  // How often it went back to a checkpoint of which producers were not told yet.
  int going_back_ EVENPACK_GUARDED_BY(mutex_) = 0;
  bool removing_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool paused_ EVENPACK_GUARDED_BY(mutex_) = false;
  RoomWaiters room_waiters_ EVENPACK_GUARDED_BY(mutex_);
  std::map<uint64_t, Done> producers_ EVENPACK_GUARDED_BY(mutex_);
  uint64_t next_producer_ EVENPACK_GUARDED_BY(mutex_) = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CONTROL_JOB_H_
