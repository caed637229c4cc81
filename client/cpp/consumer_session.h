// The consumer over a stub: prefetch, verification, reconnects.
#ifndef EVENPACK_CLIENT_CPP_CONSUMER_SESSION_H_
#define EVENPACK_CLIENT_CPP_CONSUMER_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/api_messages.h"
#include "client/cpp/backoff.h"
#include "client/cpp/call_progress.h"
#include "client/cpp/client_options.h"
#include "client/cpp/consumer.h"
#include "client/cpp/consumer_cursor.h"
#include "client/cpp/durable_marks.h"
#include "client/cpp/latency_reporter.h"
#include "client/cpp/step_buffer.h"
#include "client/cpp/stub.h"
#include "server/runtime/mutex.h"

namespace evenpack::client {

// What Consumer says. A thread opens calls, reads and verifies; the trainer's thread
// takes steps from the buffer, and hands `received` and `durable` to the call itself,
// which never blocks.
//
// A call is opened while there is room for a step in the buffer, or a durable mark that
// isn't confirmed.
class ConsumerSession final : public Consumer {
 public:
  // Both options are valid.
  ConsumerSession(std::shared_ptr<Stub> stub, ClientOptions client_options,
                  ConsumerOptions options);
  ~ConsumerSession() override;
  ConsumerSession(const ConsumerSession&) = delete;
  ConsumerSession& operator=(const ConsumerSession&) = delete;

  absl::StatusOr<std::optional<RankStep>> Next() override;
  absl::StatusOr<Subscription> AwaitSubscription() override;
  absl::Status AcknowledgeDurable(uint64_t step) override;
  uint64_t durable_steps() const override;
  std::optional<DurableMarks::Mark> unconfirmed_mark() const override;
  void ReportLatency(const MeasuredLatency& latency) override;
  void ReportWait(double seconds) override;
  StepWait step_wait() const override;
  size_t buffered_steps() const override;
  absl::Status status() const override;
  absl::Status Close() override;
  void Cancel() override;

 private:
  // The session thread.
  void Run(const std::stop_token& stop);
  // Blocks until there is something to open a call for; false: the session is over.
  bool AwaitWork();
  bool HasWork() const EVENPACK_REQUIRES(mutex_);
  absl::Status OneCall(Backoff& backoff, const std::stop_token& stop);
  // Whether the session goes on after a call that ended so.
  bool GoesOn(const absl::Status& status, Backoff& backoff,
              const std::stop_token& stop);
  void Subscribe(StepStream& stream) const;
  absl::Status Take(const v1::StreamStepsResponse& response);
  absl::Status TakeSubscribed(v1::Subscribed& subscribed,
                              const std::shared_ptr<StepStream>& stream);
  void Confirm(uint64_t durable_steps) EVENPACK_REQUIRES(mutex_);
  absl::Status TakeStep(const v1::Step& message);
  absl::Status CheckAsked(const RankStep& step) const;
  absl::Status TakeDrained(uint64_t steps, const std::string& digest);
  // Whether the subscription is to be renewed after this error.
  bool FollowsEpoch(const absl::Status& status);
  void SetFinal(const absl::Status& status);
  // A drained job's call is closed once nothing can follow on it.
  void CloseDrainedCall() EVENPACK_REQUIRES(mutex_);
  // Marks wait for the report of what was measured before them: a mark may let go of
  // the steps that it is of.
  void SendMarkBehindReport(const DurableMarks::Mark& mark) EVENPACK_REQUIRES(mutex_);
  void SendSendableMark() EVENPACK_REQUIRES(mutex_);
  // Marks steps received for which there is room.
  void SendReceived() EVENPACK_REQUIRES(mutex_);
  void HandOut(const RankStep& step) EVENPACK_REQUIRES(mutex_);

  const std::shared_ptr<Stub> stub_;
  const ClientOptions client_options_;
  const ConsumerOptions options_;

  // Behind the last step in the buffer; used by the session thread alone.
  ConsumerCursor cursor_;
  // A step came or a mark was confirmed, by what was read last; the session thread's
  // too.
  bool got_on_ = false;

  mutable Mutex mutex_;
  CondVar changed_;
  // Behind the last step that Next() handed out.
  StepPosition handed_out_ EVENPACK_GUARDED_BY(mutex_);
  // The call that may be written to, null while there is none.
  std::shared_ptr<StepStream> stream_ EVENPACK_GUARDED_BY(mutex_);
  StepBuffer buffer_ EVENPACK_GUARDED_BY(mutex_);
  std::optional<Subscription> subscription_ EVENPACK_GUARDED_BY(mutex_);
  // What the server said when the epoch that was subscribed ended, until it has taken a
  // subscription of the new one.
  std::optional<absl::Status> epoch_ended_ EVENPACK_GUARDED_BY(mutex_);
  // How many steps the job had.
  std::optional<uint64_t> drained_ EVENPACK_GUARDED_BY(mutex_);
  DurableMarks marks_ EVENPACK_GUARDED_BY(mutex_);
  StepWait wait_ EVENPACK_GUARDED_BY(mutex_);
  // Nobody takes steps any more.
  bool closing_ EVENPACK_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> final_ EVENPACK_GUARDED_BY(mutex_);

  LatencyReporter reporter_;
  std::jthread thread_;
};

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_CONSUMER_SESSION_H_
