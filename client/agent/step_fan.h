// One upstream subscription's steps and the local subscriptions that share them: who
// has had what, who is told what next, and how much more may come.
#ifndef EVENPACK_CLIENT_AGENT_STEP_FAN_H_
#define EVENPACK_CLIENT_AGENT_STEP_FAN_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/agent/held_step.h"
#include "client/cpp/consumer_cursor.h"
#include "client/cpp/durable_marks.h"
#include "server/core/document/layout.h"
#include "server/sessions/subscription.h"

namespace evenpack::agent {

// Most steps that an upstream call may have under way.
inline constexpr uint32_t kUpstreamCredits = 16;

// One local call for steps. Its fan's owner guards it.
struct LocalSubscription {
  // As the server has it.
  Subscription at;
  // Of step at.next - 1.
  Digest128 digest;
  // Steps that it was told are durable, or is to be told.
  uint64_t durable_steps = 0;
  // What is held is of the history that the server subscribed it to: it came while the
  // call stood, or the call has been opened again since. Until then it waits.
  bool confirmed = false;
  // The step is being asked for alone, or has come so.
  bool fetching = false;
  std::shared_ptr<const HeldStep> fetched;
  // Requested once it has left: what is asked for it alone is no longer waited for.
  std::stop_source left;
};

struct SendHeld {
  std::shared_ptr<const HeldStep> step;
  // Another can be sent right after it.
  bool more = false;
};
// Ask the server for this step alone, behind one of digest `previous`, and tell
// Fetched.
struct FetchStep {
  uint64_t step = 0;
  Digest128 previous;
};
using LocalMessage =
    std::variant<NothingYet, SendHeld, FetchStep, SendMarked, SendDrained, EndCall>;

// A step is kept until all local subscriptions have received it, as long as the bounds
// allow: where the foremost of them would have to wait for room, the oldest step goes,
// and who still needs it fetches it from the server alone. What is fetched ahead of the
// foremost fills the bounds and no more, but that one step may always be there. A call
// begins with a credit at least, and may bring more than there is room for, since sizes
// are not known before: the oldest go then, too.
//
// A step of an earlier epoch may be of another layout than the job's, which it doesn't
// say. Who asks for a layout fetches such a step alone, so that the server says whether
// it is of that; one that is vouches for those of its epoch.
//
//   local:     Add ──> Next / Received / MarkDurable / Fetched ──> Remove
//   upstream:  BeginCall ──> Subscribed ──> Push / Marked / Drained ──> Ended ─┐
//                 ▲                                     true: once more       │
//                 └────────────────────────────────────────────────────────────┘
//
// Not thread-safe.
class StepFan {
 public:
  using Mark = client::DurableMarks::Mark;
  using Local = std::shared_ptr<LocalSubscription>;
  struct Bounds {
    // Of steps held and under way; at least 1. A step with views counts once.
    uint64_t steps = 0;
    // Of steps with the views that are asked for.
    uint64_t bytes = 0;
  };
  // What an upstream call is opened with.
  struct Request {
    client::StepPosition from;
    uint32_t credits = 0;
    bool sends_durable = false;
  };

  // Of the steps of `epoch`, from `start` on, which is known whole.
  StepFan(uint64_t epoch, const client::StepPosition& start, const Bounds& bounds);

  // A subscription that the server has accepted from step `from` on, which follows one
  // of digest `previous`. It takes the claims of an older one, as at the server. Where
  // all were ended before it came, it asks again. Where no call stands it gets
  // nothing that is held before one does: the job may have been made anew since the
  // last one.
  // `durable_steps`: of its DP rank, as the server told it, which says no less of them
  // within an epoch.
  Local Add(const SubscribeRequest& request, uint64_t from, const Digest128& previous,
            std::shared_ptr<Subscriber> subscriber, uint64_t durable_steps = 0);
  // Also forgets the subscriber.
  void Remove(LocalSubscription& local);
  bool empty() const { return locals_.empty(); }

  // What to do next. NothingYet leaves the subscription idle: it will be woken.
  LocalMessage Next(LocalSubscription& local);
  // Errors as the server's.
  absl::Status Received(LocalSubscription& local, uint64_t step);
  absl::Status MarkDurable(LocalSubscription& local, const Mark& mark);
  // An answer to FetchStep, which the server gave to a subscription with the request's
  // layout; an error ends the subscription.
  void Fetched(LocalSubscription& local,
               absl::StatusOr<std::shared_ptr<const HeldStep>> step);
  // Those that are idle and have something to do, which counts as woken.
  std::vector<std::shared_ptr<Subscriber>> TakeWoken();

  Request BeginCall();
  // DATA_LOSS: not where this fan is.
  absl::Status Subscribed(uint64_t from_step, const Digest128& previous,
                          uint64_t durable_steps);
  // DATA_LOSS: not the next step.
  absl::Status Push(std::shared_ptr<const HeldStep> step);
  // The next step, and of which CP rank a part of it can be asked for; none: nobody
  // wants a part.
  struct NextPart {
    FetchStep step;
    uint32_t cp_rank = 0;
  };
  std::optional<NextPart> PartOfNext() const;
  // The next step is too large to come whole: who wants a part of it fetches that
  // alone, as all that is held, so that the call can go on behind it. `part`: any of
  // it. DATA_LOSS: not the next step.
  absl::Status PassOver(const HeldStep& part);
  void Marked(uint64_t durable_steps);
  absl::Status Drained(uint64_t steps, const Digest128& digest);
  // The call ended. True: with an error that the local subscription which sends durable
  // marks may have brought about, by a mark or by its claim; it alone has been ended.
  // Otherwise all are: the fan is over. Of whom the error need not be true asks again
  // (UNAVAILABLE), and is told by the server: where the history is another, who came
  // since the call was lost and who hasn't had all that is held; where steps were let
  // go, who goes on behind them; and who comes later.
  bool Ended(const absl::Status& status);
  bool over() const { return over_; }
  // The job is another one by now, under the same name: all are ended, and who comes
  // later. They ask again, and the server says what is true.
  void MadeAnew();
  // The call ended and is opened again, for it was lost or lacks a claim.
  void Lost() { connected_ = false; }

  // What is to be said on the call that stands; none where nothing is. The former makes
  // room where the foremost would wait for it.
  std::optional<uint64_t> TakeReceived();
  std::optional<Mark> TakeMark();
  // A local subscription sends durable marks, and the call has no claim to.
  bool NeedsClaim() const {
    return connected_ && durable_ != nullptr && !call_sends_durable_;
  }

  void SetBytes(uint64_t bytes) { bounds_.bytes = bytes; }

  uint64_t begin() const { return begin_; }
  uint64_t end() const { return *end_.next; }
  size_t locals() const { return locals_.size(); }
  size_t held_steps() const { return held_.size(); }
  uint64_t held_bytes() const { return bytes_ * (1 + views_.size()); }
  bool connected() const { return connected_; }

 private:
  struct Claim {
    std::optional<uint32_t> cp_rank;
    std::string subscriber;

    friend auto operator<=>(const Claim&, const Claim&) = default;
  };
  // The first step of which the bounds have no room.
  uint64_t RoomEnd() const;
  // Up to which step the call's may be marked received now.
  uint64_t ReceivedUpTo() const;
  absl::Status CheckNext(const HeldStep& step) const;
  void DropFront();
  // Drops what all have received.
  void Trim();
  // Whether one has all that there is, and a credit.
  bool AnyStarves() const;
  void End(LocalSubscription& local, const absl::Status& status);
  // End, with the error of a call where it is the subscription's too.
  void EndOfCall(LocalSubscription& local, const absl::Status& status);
  bool IsOf(const LocalSubscription& local, const absl::Status& status) const;
  // From older calls; ends it where a newer one has them.
  void TakeClaims(LocalSubscription& local);
  void FreeClaims(const LocalSubscription& local);
  // The step, if it follows what the subscription had.
  LocalMessage Send(LocalSubscription& local, std::shared_ptr<const HeldStep> step);
  // The subscription's next step is held, and of its history.
  bool Holds(const LocalSubscription& local) const;
  // That step is known to be of the layout that is asked for.
  bool Suits(const LocalSubscription& local) const;
  // Its next step is to be sent to it, or to be asked for alone.
  bool Has(const LocalSubscription& local) const;
  bool Lacks(const LocalSubscription& local) const;
  // It has all steps, and has yet to be told that there are no more.
  bool IsAtEnd(const LocalSubscription& local) const;
  bool HasWork(const LocalSubscription& local) const;

  const uint64_t epoch_;
  Bounds bounds_;

  uint64_t begin_;
  std::deque<std::shared_ptr<const HeldStep>> held_;
  // Behind the last step held.
  client::StepPosition end_;
  uint64_t bytes_ = 0;
  uint64_t largest_ = 0;
  std::optional<uint64_t> drained_;

  std::set<Local> locals_;
  std::map<Claim, LocalSubscription*> claims_;
  // How many subscriptions have each cp_rank.
  std::map<uint32_t, size_t> views_;
  LocalSubscription* durable_ = nullptr;
  // Epochs before this one, and the layout of their steps.
  std::map<uint64_t, Layout> layouts_;

  // All were ended.
  bool over_ = false;

  bool connected_ = false;
  bool call_sends_durable_ = false;
  uint32_t credits_ = 0;
  // Steps below were marked received on this call, or come before it.
  uint64_t received_ = 0;
  // Not said on this call; and the highest that was not confirmed.
  std::deque<Mark> unsaid_;
  std::optional<Mark> unconfirmed_;
};

}  // namespace evenpack::agent

#endif  // EVENPACK_CLIENT_AGENT_STEP_FAN_H_
