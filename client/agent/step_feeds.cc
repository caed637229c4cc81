#include "client/agent/step_feeds.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "client/cpp/data_loss.h"
#include "evenpack/v1/packing_service.pb.h"
#include "server/core/digest/digest_bytes.h"
#include "server/service/subscribe_conversion.h"
#include "server/sessions/subscription_table.h"

namespace evenpack::agent {
namespace {

// What the server is asked for the sake of its answer.
v1::StreamStepsRequest QuestionOf(const v1::Subscribe& subscribe) {
  v1::StreamStepsRequest question;
  *question.mutable_subscribe() = subscribe;
  // The claim of durable marks is the feed's, which would lose it to the question.
  question.mutable_subscribe()->set_sends_durable(false);
  // A number that is refused stays, so that it is.
  if (subscribe.credits() <= std::numeric_limits<int32_t>::max()) {
    question.mutable_subscribe()->set_credits(1);
  }
  return question;
}

void Add(const FeedFigures& feed, StepFeedsFigures& to) {
  to.steps_received += feed.steps_received;
  to.steps_fetched += feed.steps_fetched;
  to.reconnects += feed.reconnects;
}

}  // namespace

StepFeeds::StepFeeds(FeedUpstream upstream, const StepFeedsOptions& options)
    : upstream_(std::move(upstream)), options_(options) {
  upstream_.stop = stop_.get_token();
}

StepFeeds::Claim StepFeeds::ClaimOf(const v1::Subscribe& subscribe) {
  Claim claim{subscribe.job(), subscribe.dp_rank(), std::nullopt,
              subscribe.subscriber()};
  if (subscribe.has_cp_rank()) claim.cp_rank = subscribe.cp_rank();
  return claim;
}

absl::Status StepFeeds::TakenFrom(const Claim& claim) {
  SubscribeRequest request;
  request.dp_rank = claim.dp_rank;
  request.cp_rank = claim.cp_rank;
  request.subscriber = claim.subscriber;
  return ClaimTaken(request);
}

void StepFeeds::Subscribe(const v1::Subscribe& subscribe,
                          std::shared_ptr<Subscriber> subscriber,
                          const std::stop_token& stop, Done done) {
  upstream_.pool->Run(
      [this, subscribe, subscriber = std::move(subscriber), stop,
       done = std::move(done)] { done(Ask(subscribe, subscriber, stop)); });
}

absl::StatusOr<FeedSubscription> StepFeeds::Ask(const v1::Subscribe& subscribe,
                                                std::shared_ptr<Subscriber> subscriber,
                                                const std::stop_token& stop) {
  const std::stop_source call;
  const auto end = [call]() mutable { call.request_stop(); };
  const std::stop_callback on_stop(stop_.get_token(), end);
  const std::stop_callback on_given_up(stop, end);
  if (call.stop_requested()) return absl::CancelledError("nobody waits for the answer");
  const Claim claim = ClaimOf(subscribe);
  if (!BeginQuestion(claim, {subscriber, call})) return TakenFrom(claim);
  const absl::StatusOr<v1::StreamStepsResponse> answer =
      AnswerTo(subscribe, call.get_token());
  const bool is_newest = EndQuestion(claim, *subscriber);
  if (!answer.ok()) return is_newest ? answer.status() : TakenFrom(claim);
  const absl::StatusOr<SubscribeRequest> request = FromProto(subscribe);
  if (!request.ok()) return request.status();
  const v1::Subscribed& subscribed = answer->subscribed();
  const auto previous = DigestFromBytes(subscribed.previous_digest());
  if (!previous.has_value()) {
    return client::DataLoss("the server's first answer is not `subscribed`");
  }
  FeedSubscription made;
  made.subscribed = std::make_shared<const std::string>(answer->SerializeAsString());
  const FeedKey key = {subscribe.job(), subscribe.dp_rank(), subscribed.epoch()};
  std::shared_ptr<StepFeed> outdated;
  made.feed = TakePlace(key, ShapeOf(subscribed.spec()),
                        {subscribed.from_step(), previous}, outdated);
  if (outdated != nullptr) outdated->MadeAnew();
  made.local = made.feed->Add(*request, subscribed.from_step(), *previous,
                              std::move(subscriber), subscribed.durable_steps());
  return made;
}

absl::StatusOr<v1::StreamStepsResponse> StepFeeds::AnswerTo(
    const v1::Subscribe& subscribe, const std::stop_token& call) const {
  const std::unique_ptr<client::StepStream> stream = upstream_.stub->StreamSteps(call);
  stream->Write(QuestionOf(subscribe));
  v1::StreamStepsResponse answer;
  if (stream->Read(answer)) return answer;
  absl::Status status = stream->Finish();
  return status.ok() ? absl::UnavailableError("the server ended the call") : status;
}

bool StepFeeds::BeginQuestion(const Claim& claim, const Question& question) {
  std::stop_source older(std::nostopstate);
  {
    MutexLock lock(mutex_);
    const auto [held, is_new] = questions_.try_emplace(claim, question);
    if (!is_new) {
      if (question.subscriber->IsOlderThan(*held->second.subscriber)) return false;
      older = std::exchange(held->second, question).call;
    }
  }
  // Under no lock, and before this question is asked.
  older.request_stop();
  return true;
}

bool StepFeeds::EndQuestion(const Claim& claim, const Subscriber& subscriber) {
  MutexLock lock(mutex_);
  const auto held = questions_.find(claim);
  if (held == questions_.end() || held->second.subscriber.get() != &subscriber) {
    return false;
  }
  questions_.erase(held);
  return true;
}

std::shared_ptr<StepFeed> StepFeeds::TakePlace(const FeedKey& key,
                                               const std::string& shape,
                                               const client::StepPosition& position,
                                               std::shared_ptr<StepFeed>& outdated) {
  MutexLock lock(mutex_);
  ++locals_;
  Entry& entry = feeds_[key];
  const bool is_outdated = entry.feed != nullptr && entry.feed->shape() != shape;
  if (is_outdated) outdated = entry.feed;
  if (is_outdated || (entry.feed != nullptr && entry.feed->over())) {
    Retire(entry.feed);
    entry = {};
  }
  ++entry.places;
  if (entry.feed != nullptr) return entry.feed;
  entry.feed = std::make_shared<StepFeed>(
      upstream_, key, shape, position,
      StepFan::Bounds{options_.max_steps_ahead, options_.memory_bytes});
  DivideMemory();
  return entry.feed;
}

void StepFeeds::DivideMemory() {
  const uint64_t each = options_.memory_bytes / std::max<size_t>(1, feeds_.size());
  for (const auto& [key, entry] : feeds_) entry.feed->SetBytes(each);
}

void StepFeeds::Retire(const std::shared_ptr<StepFeed>& feed) {
  Add(feed->figures(), past_);
  // At once, however long the pool is busy: a call that it opened after those of the
  // feed in its place would take their claim.
  feed->BeginStop();
  // Its thread is awaited, which must not be by one of gRPC's.
  upstream_.pool->Run([feed] { feed->Stop(); });
}

void StepFeeds::Leave(const FeedSubscription& subscription) {
  subscription.feed->Remove(*subscription.local);
  MutexLock lock(mutex_);
  --locals_;
  const auto held = feeds_.find(subscription.feed->key());
  // One that was over may have been replaced.
  if (held == feeds_.end() || held->second.feed != subscription.feed) return;
  if (--held->second.places > 0) return;
  Retire(held->second.feed);
  feeds_.erase(held);
  DivideMemory();
}

void StepFeeds::Stop() { stop_.request_stop(); }

StepFeedsFigures StepFeeds::figures() const {
  MutexLock lock(mutex_);
  StepFeedsFigures figures = past_;
  figures.feeds = feeds_.size();
  figures.locals = locals_;
  for (const auto& [key, entry] : feeds_) {
    const FeedFigures of = entry.feed->figures();
    Add(of, figures);
    figures.held_steps += of.held_steps;
    figures.held_bytes += of.held_bytes;
    figures.connected += of.connected ? 1 : 0;
  }
  return figures;
}

}  // namespace evenpack::agent
