// The feeds of an agent, by what they follow.
#ifndef EVENPACK_CLIENT_AGENT_STEP_FEEDS_H_
#define EVENPACK_CLIENT_AGENT_STEP_FEEDS_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "client/agent/step_feed.h"
#include "client/cpp/api_messages.h"
#include "server/runtime/mutex.h"

namespace evenpack::v1 {
class StreamStepsResponse;
class Subscribe;
}  // namespace evenpack::v1

namespace evenpack::agent {

struct StepFeedsOptions {
  // Of each feed: steps held and under way.
  uint64_t max_steps_ahead = 1024;
  // Of all feeds together, in equal parts.
  uint64_t memory_bytes = uint64_t{512} << 20;
};

// A local subscription, and where it is.
struct FeedSubscription {
  std::shared_ptr<StepFeed> feed;
  StepFan::Local local;
  // What the server answered: an evenpack.v1.StreamStepsResponse.
  HeldStep::Encoded subscribed;
};

struct StepFeedsFigures {
  uint64_t feeds = 0;
  uint64_t connected = 0;
  uint64_t locals = 0;
  // Also of feeds that are no more.
  uint64_t steps_received = 0;
  uint64_t steps_fetched = 0;
  uint64_t reconnects = 0;
  uint64_t held_steps = 0;
  uint64_t held_bytes = 0;
};

// Thread-safe.
class StepFeeds {
 public:
  using Done = std::function<void(absl::StatusOr<FeedSubscription>)>;

  StepFeeds(FeedUpstream upstream, const StepFeedsOptions& options);
  // Stop() was called.
  ~StepFeeds() = default;
  StepFeeds(const StepFeeds&) = delete;
  StepFeeds& operator=(const StepFeeds&) = delete;

  // Has the server say whether the subscription can be had, by one of its own that ends
  // with the answer, and adds it to the feed of its job, DP rank and epoch. `done` is
  // called once, by a thread of the pool; errors are the server's. CANCELLED: `stop`
  // was requested before there was an answer.
  void Subscribe(const v1::Subscribe& subscribe, std::shared_ptr<Subscriber> subscriber,
                 const std::stop_token& stop, Done done);
  // The last that leaves a feed ends it.
  void Leave(const FeedSubscription& subscription);

  // Ends what waits for the server. Subscriptions are ended by who has them.
  void Stop();

  StepFeedsFigures figures() const;

 private:
  struct Entry {
    std::shared_ptr<StepFeed> feed;
    // Subscriptions that have not left.
    size_t places = 0;
  };

  // What a question takes at the server for as long as it is there.
  struct Claim {
    std::string job;
    uint32_t dp_rank = 0;
    std::optional<uint32_t> cp_rank;
    std::string subscriber;

    friend auto operator<=>(const Claim&, const Claim&) = default;
  };
  struct Question {
    std::shared_ptr<Subscriber> subscriber;
    std::stop_source call;
  };

  static Claim ClaimOf(const v1::Subscribe& subscribe);
  // What the server says to one that is older than another with its claim.
  static absl::Status TakenFrom(const Claim& claim);
  absl::StatusOr<FeedSubscription> Ask(const v1::Subscribe& subscribe,
                                       std::shared_ptr<Subscriber> subscriber,
                                       const std::stop_token& stop);
  // The server's answer to a question on this call.
  absl::StatusOr<v1::StreamStepsResponse> AnswerTo(const v1::Subscribe& subscribe,
                                                   const std::stop_token& call) const;
  // False: a newer subscription is being asked for with the same claim. An older one no
  // longer is.
  bool BeginQuestion(const Claim& claim, const Question& question);
  // Whether none was meanwhile.
  bool EndQuestion(const Claim& claim, const Subscriber& subscriber);
  // The feed, made where there is none that goes on, of a job of that shape; it stays
  // until Leave. One of another shape is given to `outdated`.
  std::shared_ptr<StepFeed> TakePlace(const FeedKey& key, const std::string& shape,
                                      const client::StepPosition& position,
                                      std::shared_ptr<StepFeed>& outdated);
  void DivideMemory() EVENPACK_REQUIRES(mutex_);
  void Retire(const std::shared_ptr<StepFeed>& feed) EVENPACK_REQUIRES(mutex_);

  // Constant after construction.
  FeedUpstream upstream_;
  const StepFeedsOptions options_;
  std::stop_source stop_;

  mutable Mutex mutex_;
  std::map<FeedKey, Entry> feeds_ EVENPACK_GUARDED_BY(mutex_);
  std::map<Claim, Question> questions_ EVENPACK_GUARDED_BY(mutex_);
  size_t locals_ EVENPACK_GUARDED_BY(mutex_) = 0;
  // Of feeds that are no more.
  StepFeedsFigures past_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack::agent

#endif  // EVENPACK_CLIENT_AGENT_STEP_FEEDS_H_
