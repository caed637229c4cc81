// One rank's call for steps: what it asked for, how far it has come, what it is told
// next.
#ifndef EVENPACK_SERVER_SESSIONS_SUBSCRIPTION_H_
#define EVENPACK_SERVER_SESSIONS_SUBSCRIPTION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "server/core/digest/digest.h"
#include "server/runtime/clock.h"
#include "server/sessions/credit_times.h"
#include "server/sessions/published_step.h"

namespace evenpack {

inline constexpr uint32_t kDefaultCredits = 16;

// evenpack.v1.Subscribe, field by field.
struct SubscribeRequest {
  uint32_t dp_rank = 0;
  std::optional<uint32_t> cp_rank;
  std::string subscriber;
  bool sends_durable = false;
  std::optional<uint64_t> from_step;
  std::optional<Digest128> last_digest;
  std::optional<uint64_t> last_epoch;
  uint32_t credits = kDefaultCredits;
  std::optional<uint64_t> epoch;
  std::optional<Layout> layout;
};

// Who is told that there may be something to send: a call, made when it came.
class Subscriber {
 public:
  Subscriber() = default;
  virtual ~Subscriber() = default;
  Subscriber(const Subscriber&) = delete;
  Subscriber& operator=(const Subscriber&) = delete;
  // From any thread, under no lock; may come more often than there is something.
  virtual void Wake() = 0;

  // Of two calls that can't both be, the older ends, whichever is heard first: on a
  // busy server a call that its client has lost may be heard after the one that
  // replaces it.
  bool IsOlderThan(const Subscriber& other) const { return number_ < other.number_; }

 private:
  static inline std::atomic<uint64_t> next_number = 0;

  const uint64_t number_ = next_number.fetch_add(1);
};

// What a subscriber does next.
struct NothingYet {
  // Nor will there be, unless the subscriber says more: it has no credit left, or all
  // there is.
  bool waits_for_subscriber = false;
};
struct SendStep {
  std::shared_ptr<const PublishedStep> step;
  // Another can be sent right after it.
  bool more = false;
  // Others subscribe to the same view of it.
  bool shared = false;
  // Since when: it was decided, and the subscriber had a credit for it.
  Clock::TimePoint ready;
};
struct SendMarked {
  uint64_t durable_steps = 0;
};
struct SendDrained {
  uint64_t steps = 0;
  Digest128 digest;
};
struct EndCall {
  absl::Status status;
};
using NextMessage =
    std::variant<NothingYet, SendStep, SendMarked, SendDrained, EndCall>;

// Not thread-safe: the job's lock guards it.
struct Subscription {
  SubscribeRequest request;
  std::shared_ptr<Subscriber> subscriber;
  // The step to be sent next.
  uint64_t next = 0;
  // Steps below were marked received, or not asked for.
  uint64_t received = 0;
  CreditTimes credit_times;
  // Told NothingYet and not woken since.
  bool idle = false;
  bool drained_told = false;
  // Durable steps to be told.
  std::optional<uint64_t> marked;
  // Not OK: the call ends with it where it would wait for a step to be decided.
  absl::Status instead_of_waiting;
  // Why the call ends, once it is to.
  std::optional<absl::Status> end;

  // It was made, or a credit came back.
  void NoteCredit(Clock::TimePoint now) {
    credit_times.Raise(received + request.credits, now);
  }
  bool HasCredit() const { return next - received < request.credits; }
  uint64_t UnusedCredits() const { return request.credits - (next - received); }
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SESSIONS_SUBSCRIPTION_H_
