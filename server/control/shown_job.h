// What was committed of a job: all that subscribers and observers may see of it. Its
// lock is held for moments only, whatever the engine decides meanwhile.
#ifndef EVENPACK_SERVER_CONTROL_SHOWN_JOB_H_
#define EVENPACK_SERVER_CONTROL_SHOWN_JOB_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/control/job_change.h"
#include "server/control/job_status.h"
#include "server/control/job_tokens.h"
#include "server/core/engine/job_state.h"
#include "server/metrics/job_figures.h"
#include "server/runtime/clock.h"
#include "server/runtime/mutex.h"
#include "server/sessions/group_table.h"
#include "server/sessions/step_window.h"
#include "server/sessions/subscription_table.h"

namespace evenpack {

// Thread-safe.
class ShownJob {
 public:
  using Subscribers = std::vector<std::shared_ptr<Subscriber>>;

  explicit ShownJob(std::string name) : name_(std::move(name)) {}

  // A committed change. Returns the steps that it lets go of, in order.
  std::vector<std::shared_ptr<const PublishedStep>> Show(const JobChange& change);
  // All of a stored job at once, in place of what was shown: subscriptions to that end
  // with UNAVAILABLE, so that they come again with their last digest. `let_go_epoch`:
  // as StepWindow has it. INTERNAL where a step can't be sharded. DATA_LOSS: its tokens
  // are not there.
  absl::Status Restore(const JobState& state, std::shared_ptr<const JobSpec> spec,
                       const JobTokens& tokens, std::optional<uint64_t> let_go_epoch,
                       Clock::TimePoint now);
  // As SubscriptionTable's.
  void EndThoseThatWait(const absl::Status& status);
  // Whether the job's creation was shown and its removal was not.
  bool IsShown() const;
  // Those who have something to do, which counts as woken.
  Subscribers TakeWoken();

  // As SubscriptionTable has them. `unread`: why more may have been committed than is
  // known here. `now`: when its credits came. `woken`: those who lost a claim.
  absl::StatusOr<Subscribed> Subscribe(const SubscribeRequest& request,
                                       std::shared_ptr<Subscriber> subscriber,
                                       const absl::Status& unread, Clock::TimePoint now,
                                       Subscribers& woken);
  NextMessage Next(Subscription& subscription);
  // The subscriber, where that gives it something to do, which counts as woken.
  absl::StatusOr<std::shared_ptr<Subscriber>> Received(Subscription& subscription,
                                                       uint64_t step,
                                                       Clock::TimePoint now);
  // The subscription is to be told its rank's durable mark. Returns as Received.
  std::shared_ptr<Subscriber> TellMarked(Subscription& subscription);
  // With what it ends, once it is to.
  std::optional<absl::Status> EndOf(const Subscription& subscription) const;
  void Unsubscribe(Subscription& subscription);

  // NOT_FOUND: the job is not shown. OUT_OF_RANGE as StepWindow::Find.
  absl::StatusOr<std::shared_ptr<const PublishedStep>> FindStep(uint64_t index) const;
  // NOT_FOUND as above. OUT_OF_RANGE for a rank that there isn't.
  absl::StatusOr<uint64_t> DurableStepsOf(uint32_t dp_rank) const;
  // NOT_FOUND as above. FAILED_PRECONDITION: groups are of another size.
  // INVALID_ARGUMENT: no such dp_rank, or as CheckSeat.
  absl::Status CheckSeat(const GroupSeat& seat) const;
  // Those of the micro-batches reported, one for each, null where it was let go.
  // NOT_FOUND as above. OUT_OF_RANGE: a step that isn't decided, a micro-batch that
  // isn't the rank's, or a rank that the step's shape, of let-go steps alone the job's,
  // lacks.
  absl::StatusOr<std::vector<std::shared_ptr<const PublishedStep>>> StepsOf(
      const LatencyReport& report) const;

  // That of steps to come; null where the job is not shown.
  std::shared_ptr<const JobSpec> spec() const;
  uint64_t subscribers() const;
  // As SubscriptionTable::Slowest.
  std::vector<SubscriberStatus> SlowestSubscribers(size_t most) const;
  void AddTo(JobFigures& figures) const;

 private:
  absl::Status CheckShown() const EVENPACK_REQUIRES(mutex_);
  void ShowReshape(const Reshape& reshape) EVENPACK_REQUIRES(mutex_);
  SessionView View() const EVENPACK_REQUIRES(mutex_);
  std::shared_ptr<Subscriber> TakeIfWoken(Subscription& subscription)
      EVENPACK_REQUIRES(mutex_);

  const std::string name_;

  mutable Mutex mutex_;
  StepWindow window_ EVENPACK_GUARDED_BY(mutex_);
  // Null before the job is shown.
  std::shared_ptr<const JobSpec> spec_ EVENPACK_GUARDED_BY(mutex_);
  uint64_t epoch_ EVENPACK_GUARDED_BY(mutex_) = 0;
  // By DP rank.
  std::vector<uint64_t> durable_ EVENPACK_GUARDED_BY(mutex_);
  bool drained_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool removed_ EVENPACK_GUARDED_BY(mutex_) = false;
  SubscriptionTable subscriptions_ EVENPACK_GUARDED_BY(mutex_);
};

// NOT_FOUND.
absl::Status JobNotFound(const std::string& name);
// OUT_OF_RANGE: of this kind there are `ranks`.
absl::Status NoSuchRank(absl::string_view field, uint32_t rank, uint64_t ranks);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CONTROL_SHOWN_JOB_H_
