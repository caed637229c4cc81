// One subscription at the server, shared by the local subscriptions to the same steps.
#ifndef EVENPACK_CLIENT_AGENT_STEP_FEED_H_
#define EVENPACK_CLIENT_AGENT_STEP_FEED_H_

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "client/agent/step_fan.h"
#include "client/cpp/backoff.h"
#include "client/cpp/client_options.h"
#include "client/cpp/stub.h"
#include "server/runtime/mutex.h"
#include "server/runtime/worker_pool.h"

namespace evenpack::agent {

// What a feed does at the server.
struct FeedUpstream {
  std::shared_ptr<client::Stub> stub;
  // Of whose back-off all but the total counts: a feed tries until it is stopped.
  client::ClientOptions options;
  // As evenpack.v1.Subscribe.
  std::string subscriber;
  // Of steps that are fetched alone, which block. Outlives the feed.
  WorkerPool* pool = nullptr;
  // Requested: those are no longer waited for.
  std::stop_token stop = {};
};

// What is followed: the steps of one DP rank, as decided in one epoch of a job or
// before it.
struct FeedKey {
  std::string job;
  uint32_t dp_rank = 0;
  uint64_t epoch = 0;

  friend auto operator<=>(const FeedKey&, const FeedKey&) = default;
};

// What of a job's spec stays the same in an epoch, all but its costs: where it differs,
// the job is another one.
std::string ShapeOf(const v1::JobSpec& spec);

// Since it began.
struct FeedFigures {
  uint64_t steps_received = 0;
  uint64_t steps_fetched = 0;
  // Upstream calls after the first.
  uint64_t reconnects = 0;
  uint64_t held_steps = 0;
  uint64_t held_bytes = 0;
  bool connected = false;
};

// A thread of its own reads the upstream call and opens another where it is lost; local
// subscriptions keep what is held meanwhile, and wait. An error of the server's ends
// them all, as does a job that was made anew under the same name with another shape,
// and the feed is over. Thread-safe; subscribers are woken under no lock.
class StepFeed : public std::enable_shared_from_this<StepFeed> {
 public:
  // `shape`: ShapeOf the job's spec, as it was told to those who will share the feed.
  StepFeed(FeedUpstream upstream, FeedKey key, std::string shape,
           const client::StepPosition& start, const StepFan::Bounds& bounds);
  // Stop() was called.
  ~StepFeed() = default;
  StepFeed(const StepFeed&) = delete;
  StepFeed& operator=(const StepFeed&) = delete;

  // Ends the upstream call and the thread. Not from a callback of gRPC's.
  void Stop();
  // Likewise, and waits for nothing: from here on no call is opened that stays.
  void BeginStop() { thread_.request_stop(); }

  // As StepFan's.
  StepFan::Local Add(const SubscribeRequest& request, uint64_t from,
                     const Digest128& previous, std::shared_ptr<Subscriber> subscriber,
                     uint64_t durable_steps = 0);
  void Remove(LocalSubscription& local);
  // FetchStep is carried out here, as long as the server is away too: NothingYet then,
  // and the subscription is woken.
  LocalMessage Next(const StepFan::Local& local);
  absl::Status Received(LocalSubscription& local, uint64_t step);
  absl::Status MarkDurable(LocalSubscription& local, const StepFan::Mark& mark);
  void SetBytes(uint64_t bytes);
  // As StepFan's.
  void MadeAnew();

  const FeedKey& key() const { return key_; }
  const std::string& shape() const { return shape_; }
  // All that were subscribed have been ended, as is who is added.
  bool over() const;
  FeedFigures figures() const;

 private:
  void Run(const std::stop_token& stop);
  // One call, to its end.
  absl::Status OneCall(client::Backoff& backoff, const std::stop_token& stop);
  void Subscribe(client::StepStream& stream);
  absl::Status Take(v1::StreamStepsResponse& response,
                    const std::shared_ptr<client::StepStream>& stream);
  absl::Status TakeSubscribed(const v1::Subscribed& subscribed,
                              const std::shared_ptr<client::StepStream>& stream);
  absl::Status TakeStep(v1::Step step);
  // False: there is to be no further call.
  bool GoesOn(const absl::Status& status, client::Backoff& backoff,
              const std::stop_token& stop);
  // Of a call that ended since the next step is too large whole: gets past it, where
  // ranks want parts that come.
  bool PassOver(client::Backoff& backoff, const std::stop_token& stop);
  void Fetch(const StepFan::Local& local, const FetchStep& fetch)
      EVENPACK_REQUIRES(mutex_);
  // Blocks until a server has answered, or the subscription has left.
  absl::StatusOr<std::shared_ptr<const HeldStep>> AwaitFetched(
      const LocalSubscription& local, const v1::StreamStepsRequest& question) const;
  // One attempt.
  absl::StatusOr<std::shared_ptr<const HeldStep>> AskAlone(
      const v1::StreamStepsRequest& question, const std::stop_token& stop) const;
  v1::StreamStepsRequest QuestionAlone(const FetchStep& fetch,
                                       const SubscribeRequest& whose)
      EVENPACK_REQUIRES(mutex_);
  // Changes the fan, and has known what follows from it: upstream, and to who is woken.
  absl::Status Update(const std::function<absl::Status(StepFan&)>& change);
  // What has become sayable upstream.
  void Say() EVENPACK_REQUIRES(mutex_);

  const FeedUpstream upstream_;
  const FeedKey key_;
  const std::string shape_;

  mutable Mutex mutex_;
  StepFan fan_ EVENPACK_GUARDED_BY(mutex_);
  // The call that stands; null where none does.
  std::shared_ptr<client::StepStream> stream_ EVENPACK_GUARDED_BY(mutex_);
  // Of the call that is open, whether it stands or not.
  std::stop_source call_ EVENPACK_GUARDED_BY(mutex_);
  bool reopening_ EVENPACK_GUARDED_BY(mutex_) = false;
  FeedFigures figures_ EVENPACK_GUARDED_BY(mutex_);

  // Last, so that it ends before what it uses.
  std::jthread thread_;
};

}  // namespace evenpack::agent

#endif  // EVENPACK_CLIENT_AGENT_STEP_FEED_H_
