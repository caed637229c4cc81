// Takes one rank's steps from the server, in order, each exactly once.
//
//   std::unique_ptr<Consumer> consumer = *client.OpenConsumer(
//       {.job = "run-7", .dp_rank = 3, .sends_durable = true});
//   for (;;) {
//     absl::StatusOr<std::optional<RankStep>> step = consumer->Next();
//     if (!step.ok()) return step.status();
//     if (!step->has_value()) break;            // the job is drained
//     Train(**step);
//     if (saved) consumer->AcknowledgeDurable((*step)->index());
//   }
//   consumer->Close();
#ifndef EVENPACK_CLIENT_CPP_CONSUMER_H_
#define EVENPACK_CLIENT_CPP_CONSUMER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/api_messages.h"
#include "client/cpp/durable_marks.h"
#include "client/cpp/rank_step.h"
#include "server/core/digest/digest.h"

namespace evenpack::client {

struct ConsumerOptions {
  std::string job = {};
  // 0 to DP - 1.
  uint32_t dp_rank = 0;
  // Also get this context-parallel rank's slices: 0 to CP - 1.
  std::optional<uint32_t> cp_rank = std::nullopt;
  // Who asks, at most 256 bytes. A newer subscription of the same dp_rank, cp_rank and
  // subscriber takes over: the older consumer gets ABORTED.
  std::string subscriber = {};
  // This consumer sends the durable marks of its DP rank. One per DP rank does.
  bool sends_durable = false;
  // The first step wanted. Not set: the first that the DP rank has not made durable.
  std::optional<uint64_t> from_step = std::nullopt;
  // Digest of step from_step - 1, as a checkpoint has it: the server answers DATA_LOSS
  // if its history is another. Needs from_step.
  std::optional<Digest128> last_digest = std::nullopt;
  // Epoch of that step, likewise: DATA_LOSS also where it was withdrawn and formed
  // again. With it that step can be marked durable though this consumer didn't hand it
  // out. Needs from_step.
  std::optional<uint64_t> last_epoch = std::nullopt;
  // The layout that the trainer can use; FAILED_PRECONDITION where the job has another.
  // 0, unspecified: any.
  v1::Layout layout{};
  // Steps that the server may send before it hears that they came. 1 to 2^31 - 1.
  uint32_t credits = 16;
  // Steps are fetched ahead of Next() as far as the server has decided them, until they
  // take so much memory (RankStep::memory_bytes) or are so many: what a trainer lives
  // on while the server is away. At least 1 each. After a reconnect, and before the
  // first step came, up to `credits` steps more may be held.
  uint64_t max_buffered_bytes = 512 << 20;
  uint32_t max_buffered_steps = 65'536;
  // What to do when the job was reconfigured: see Consumer.
  bool follow_epochs = false;
  // Waits and latencies are reported at most so often, latencies with a durable mark
  // too, and both at the end. 0: never. Up to kLongestWait.
  std::chrono::milliseconds report_interval{10'000};
  // Waits in Next() are a trainer's. Not where steps are taken ahead of one, who then
  // says what it waited for (ReportWait), or has a consumer of its own.
  bool reports_waits = true;
};

// INVALID_ARGUMENT naming the first field that is out of its range.
absl::Status Validate(const ConsumerOptions& options);

// The job as a subscription found it.
struct Subscription {
  uint64_t epoch = 0;
  // The shape in that epoch.
  std::shared_ptr<const v1::JobSpec> spec;
  // The step that was sent first.
  uint64_t from_step = 0;
  // Steps of this DP rank that were durable.
  uint64_t durable_steps = 0;
};

// How long the trainer stood still for want of a step.
struct StepWait {
  // In calls of Next() that returned a step, without the first of them, which also
  // waits for the connection and for a job to have documents.
  double seconds = 0;
  double first_step_seconds = 0;
  // Steps handed out, the first one too.
  uint64_t steps_taken = 0;
};

// evenpack.v1.AttentionLatency.
struct MeasuredAttention {
  // Passes, one a layer, that the times are of.
  uint32_t forward_passes = 0;
  uint32_t backward_passes = 0;
  // Computing over all of them, and waiting for peers: nanoseconds.
  int64_t forward_ns = 0;
  int64_t backward_ns = 0;
  int64_t waited_ns = 0;
};

// What the trainer measured of a micro-batch.
struct MeasuredLatency {
  uint64_t step = 0;
  // Index within the step.
  uint32_t micro_batch = 0;
  // Nanoseconds; 0 where not measured.
  int64_t forward_ns = 0;
  int64_t backward_ns = 0;
  // Of the attention alone, where the rank's worker measures it. Needs a consumer with
  // a cp_rank.
  std::optional<MeasuredAttention> attention = std::nullopt;
};

// A thread of the consumer's own subscribes, verifies and keeps steps ready. A lost
// call is opened again, with back-off, and goes on behind the last step that came;
// steps that wait here are handed out meanwhile. While there are any it doesn't give
// up: ClientOptions.backoff.total counts from the last attempt before there was none,
// or from the first after Close() was called.
//
// Every step is verified before it is handed out: index and dp_rank; the chain of
// digests from the step before; its digest from those of its micro-batches; of the
// rank's own micro-batches the documents, tokens and padding, the shard plan and the
// slices, these also against the plan. What doesn't agree is DATA_LOSS naming step and
// micro-batch.
//
// An error that can't be retried is final: Next() returns it after the steps before it,
// and then every time. ABORTED alone comes at once, and steps that wait here are
// dropped. ErrorDetails.reason says why:
// - CLAIM_TAKEN: a newer subscription has this rank and subscriber.
// - EPOCH_ENDED: the job was reconfigured; message and metadata have the new shape.
//   With follow_epochs the consumer subscribes again instead, behind the last step that
//   Next() handed out; RankStep::epoch() and spec() tell. Where steps that were handed
//   out have been withdrawn the trainer must go back to a checkpoint, so ABORTED comes
//   all the same, at the latest when one of them is to be made durable.
//
// Thread-safe, but one thread at a time in Next(). Destroying one cancels its call at
// once, also during an attempt to reconnect, and reports nothing: Close() before that.
// No other thread may be in a call of the object then: Cancel() makes them return.
class Consumer {
 public:
  virtual ~Consumer() = default;

  // Blocks until there is a step, no further one (nothing: the job is drained), or an
  // error. Handing a step out makes room for another.
  virtual absl::StatusOr<std::optional<RankStep>> Next() = 0;

  // The latest subscription; blocks until the first. Fails as Next() does.
  virtual absl::StatusOr<Subscription> AwaitSubscription() = 0;

  // The trainer's checkpoint after `step` is committed. Cumulative. Returns at once;
  // the mark is sent, after a reconnect again, until the server has confirmed it, and
  // where latencies wait or are under way, once their report was answered or failed,
  // which takes twice ClientOptions.call_timeout at most.
  // FAILED_PRECONDITION: sends_durable isn't set. INVALID_ARGUMENT: Next() has not
  // handed that step out. Marks of earlier runs go through Client::Acknowledge.
  virtual absl::Status AcknowledgeDurable(uint64_t step) = 0;
  // Steps of this DP rank that the server has confirmed to be durable.
  virtual uint64_t durable_steps() const = 0;
  // The last that was acknowledged, unless it is confirmed; also behind an error. Where
  // another consumer takes this one's place, it is for Client::Acknowledge: a job that
  // waits for it may decide no step whose mark would stand for it.
  virtual std::optional<DurableMarks::Mark> unconfirmed_mark() const = 0;

  // Notes what was measured; it is sent along with the waits. Beyond 65,536 that were
  // not sent yet the oldest are dropped.
  virtual void ReportLatency(const MeasuredLatency& latency) = 0;

  // A trainer has taken a step that this consumer handed out earlier, after so many
  // seconds, 0 or more; for consumers without reports_waits.
  virtual void ReportWait(double seconds) = 0;

  virtual StepWait step_wait() const = 0;
  double step_wait_seconds() const { return step_wait().seconds; }
  // Steps that wait here.
  virtual size_t buffered_steps() const = 0;
  // OK, or the error that is final, also while steps before it wait here. For who takes
  // steps ahead of a trainer: ABORTED and CANCELLED have them dropped there too.
  virtual absl::Status status() const = 0;

  // Ends in order: blocks until every durable mark is confirmed, reports what wasn't
  // reported yet (one attempt), and closes the call. OK, or why a mark can't be
  // confirmed. Next() then returns CANCELLED.
  virtual absl::Status Close() = 0;
  // Ends at once: calls under way and later ones return CANCELLED.
  virtual void Cancel() = 0;
};

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_CONSUMER_H_
