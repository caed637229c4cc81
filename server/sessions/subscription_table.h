// The subscriptions of a job: who has which claim, and what each is told next.
#ifndef EVENPACK_SERVER_SESSIONS_SUBSCRIPTION_TABLE_H_
#define EVENPACK_SERVER_SESSIONS_SUBSCRIPTION_TABLE_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/engine/job_spec.h"
#include "server/sessions/step_window.h"
#include "server/sessions/subscription.h"

namespace evenpack {

// What the table reads of the job; all of it committed.
struct SessionView {
  const StepWindow& window;
  const JobSpec& spec;
  uint64_t epoch = 0;
  bool drained = false;
  // Per DP rank.
  const std::vector<uint64_t>& durable;
};

// Now.
struct SubscriberFigures {
  uint64_t subscribers = 0;
  // Decided and not received: by the slowest, and by the fastest.
  uint64_t max_lag_steps = 0;
  uint64_t min_lag_steps = 0;
  uint64_t total_lag_steps = 0;
  uint64_t unused_credits = 0;
  // Steps that none of them was sent; without one, all that are kept.
  uint64_t ready_steps = 0;
};

// A subscription, now.
struct SubscriberStatus {
  uint32_t dp_rank = 0;
  std::optional<uint32_t> cp_rank;
  std::string subscriber;
  bool sends_durable = false;
  // The step that it is sent next, and how many were received or not asked for.
  uint64_t next_step = 0;
  uint64_t received_steps = 0;
  // Decided and not received.
  uint64_t lag_steps = 0;
  uint64_t unused_credits = 0;
};

// Not thread-safe: its owner's lock guards it, and the subscriptions in it.
//
//   asked ──Add──> following ──(newer claim, new epoch, job deleted)──> ending
//                      │  ▲                                               │
//                  Next()  Received()                            Next() = EndCall
class SubscriptionTable {
 public:
  // Checks the request and takes its claims: a subscription of the same (dp_rank,
  // cp_rank, subscriber) ends, and where the request sends durable marks the one that
  // did so for its DP rank. Errors as StreamSteps has them (packing_service.proto);
  // ABORTED also where a newer call has one of its claims.
  // `instead_of_waiting`: as Subscription has it. Where it isn't OK the view may be
  // behind the truth: then it is also the answer to all but a request that there is
  // something to send to, behind the step whose digest it has.
  absl::StatusOr<std::shared_ptr<Subscription>> Add(
      const SubscribeRequest& request, std::shared_ptr<Subscriber> subscriber,
      const SessionView& view, const absl::Status& instead_of_waiting = {});
  // Also forgets the subscriber, which may hold the subscription.
  void Remove(Subscription& subscription);

  // What to do next. NothingYet leaves the subscription idle: it will be woken.
  NextMessage Next(Subscription& subscription, const SessionView& view) const;

  // Steps up to `step` have arrived. OUT_OF_RANGE where it was not sent.
  static absl::Status Received(Subscription& subscription, uint64_t step);

  // Subscription::instead_of_waiting of all that there are.
  void EndThoseThatWait(const absl::Status& status);
  // All subscriptions end with this status.
  void EndAll(const absl::Status& status);

  // The subscribers that are idle and have something to do, which counts as woken.
  std::vector<std::shared_ptr<Subscriber>> TakeWoken(const SessionView& view);

  // Whether this one is, which counts as woken.
  static bool TakeIfWoken(Subscription& subscription, const SessionView& view);

  size_t size() const { return claims_.size(); }
  SubscriberFigures Figures(const StepWindow& window) const;
  // At most `most`, those that lag most first; of equal ones by rank and name.
  std::vector<SubscriberStatus> Slowest(const StepWindow& window, size_t most) const;

 private:
  struct Claim {
    uint32_t dp_rank = 0;
    std::optional<uint32_t> cp_rank;
    std::string subscriber;

    friend auto operator<=>(const Claim&, const Claim&) = default;
  };

  using Ranks = std::pair<uint32_t, std::optional<uint32_t>>;

  static Claim ClaimOf(const SubscribeRequest& request);
  static bool HasWork(const Subscription& subscription, const SessionView& view);
  // ABORTED: a newer call has them.
  absl::Status CheckClaims(const SubscribeRequest& request,
                           const Subscriber& subscriber) const;
  void TakeClaims(const std::shared_ptr<Subscription>& subscription);
  // Those that are still its own.
  void FreeClaims(const Subscription& subscription);

  std::map<Claim, std::shared_ptr<Subscription>> claims_;
  // How many of these are for the same DP and CP rank.
  std::map<Ranks, size_t> sharers_;
  // By DP rank, who sends durable marks.
  std::map<uint32_t, std::shared_ptr<Subscription>> durable_;
  // Ended by a newer claim and not removed yet: still to be told.
  std::vector<std::shared_ptr<Subscription>> ending_;
};

// ABORTED: what a subscription with this request ends with when a newer one took a
// claim of it.
absl::Status ClaimTaken(const SubscribeRequest& request);
// Likewise, where the newer one sends the durable marks of its DP rank.
absl::Status MarksTaken(const SubscribeRequest& request);

// ABORTED with the shape of the job's present epoch, and with its first step for those
// who were there when it began.
absl::Status EpochEnded(const JobSpec& spec, uint64_t epoch,
                        std::optional<uint64_t> from_step = std::nullopt);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SESSIONS_SUBSCRIPTION_TABLE_H_
