#include "server/sessions/subscription_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/runtime/error_reason.h"
#include "server/runtime/status_detail.h"
#include "server/sessions/subscribe_check.h"

namespace evenpack {

absl::Status ClaimTaken(const SubscribeRequest& request) {
  return WithDetail(
      absl::AbortedError(absl::StrCat(
          "dp_rank: a newer subscription took the claim of dp_rank ", request.dp_rank,
          request.cp_rank.has_value() ? absl::StrCat(", cp_rank ", *request.cp_rank)
                                      : "",
          request.subscriber.empty() ? ""
                                     : absl::StrCat(", '", request.subscriber, "'"))),
      {kClaimTaken, {}});
}

absl::Status MarksTaken(const SubscribeRequest& request) {
  return WithDetail(
      absl::AbortedError(absl::StrCat(
          "sends_durable: a newer subscription marks the steps of dp_rank ",
          request.dp_rank, "; accepted: one of each DP rank")),
      {kClaimTaken, {}});
}

namespace {

uint64_t LagSteps(const Subscription& subscription, const StepWindow& window) {
  return window.end() - std::min(subscription.received, window.end());
}

}  // namespace

absl::Status EpochEnded(const JobSpec& spec, uint64_t epoch,
                        std::optional<uint64_t> from_step) {
  StatusDetail detail = {kEpochEnded,
                         {{"epoch", absl::StrCat(epoch)},
                          {"data_parallel", absl::StrCat(spec.data_parallel)},
                          {"micro_batches", absl::StrCat(spec.micro_batches)},
                          {"context_parallel", absl::StrCat(spec.context_parallel)},
                          {"window", absl::StrCat(spec.window)}}};
  if (from_step.has_value()) {
    detail.values.emplace("from_step", absl::StrCat(*from_step));
  }
  return WithDetail(
      absl::AbortedError(absl::StrCat(
          "epoch: the job is in epoch ", epoch, ": data_parallel ", spec.data_parallel,
          ", micro_batches ", spec.micro_batches, ", context_parallel ",
          spec.context_parallel, ", window ", spec.window)),
      detail);
}

SubscriptionTable::Claim SubscriptionTable::ClaimOf(const SubscribeRequest& request) {
  return {request.dp_rank, request.cp_rank, request.subscriber};
}

absl::StatusOr<std::shared_ptr<Subscription>> SubscriptionTable::Add(
    const SubscribeRequest& request, std::shared_ptr<Subscriber> subscriber,
    const SessionView& view, const absl::Status& instead_of_waiting) {
  const absl::StatusOr<uint64_t> from = CheckSubscribe(request, view);
  if (!instead_of_waiting.ok()) {
    const bool goes_on = from.ok() && request.last_digest.has_value();
    const bool is_sent = goes_on && (view.drained || *from < view.window.end());
    if (!is_sent) return instead_of_waiting;
  }
  if (!from.ok()) return from.status();
  if (absl::Status status = CheckClaims(request, *subscriber); !status.ok()) {
    return status;
  }
  auto subscription = std::make_shared<Subscription>();
  subscription->request = request;
  subscription->subscriber = std::move(subscriber);
  subscription->next = *from;
  subscription->received = *from;
  subscription->instead_of_waiting = instead_of_waiting;
  TakeClaims(subscription);
  return subscription;
}

absl::Status SubscriptionTable::CheckClaims(const SubscribeRequest& request,
                                            const Subscriber& subscriber) const {
  const auto has = [&subscriber](const auto& held, const auto& claim) {
    const auto found = held.find(claim);
    return found != held.end() && subscriber.IsOlderThan(*found->second->subscriber);
  };
  if (has(claims_, ClaimOf(request))) return ClaimTaken(request);
  if (request.sends_durable && has(durable_, request.dp_rank)) {
    return MarksTaken(request);
  }
  return absl::OkStatus();
}

void SubscriptionTable::TakeClaims(const std::shared_ptr<Subscription>& subscription) {
  // By value: its place in the maps goes.
  const auto end = [this](std::shared_ptr<Subscription> older, const auto& taken) {
    if (older == nullptr) return;
    FreeClaims(*older);
    if (older->end.has_value()) return;
    older->end = taken(older->request);
    ending_.push_back(std::move(older));
  };
  const SubscribeRequest& request = subscription->request;
  end(claims_[ClaimOf(request)], ClaimTaken);
  claims_[ClaimOf(request)] = subscription;
  if (request.sends_durable) {
    end(durable_[request.dp_rank], MarksTaken);
    durable_[request.dp_rank] = subscription;
  }
  ++sharers_[{request.dp_rank, request.cp_rank}];
}

void SubscriptionTable::FreeClaims(const Subscription& subscription) {
  const auto claim = claims_.find(ClaimOf(subscription.request));
  if (claim != claims_.end() && claim->second.get() == &subscription) {
    const auto sharers = sharers_.find({claim->first.dp_rank, claim->first.cp_rank});
    if (--sharers->second == 0) sharers_.erase(sharers);
    claims_.erase(claim);
  }
  const auto durable = durable_.find(subscription.request.dp_rank);
  if (durable != durable_.end() && durable->second.get() == &subscription) {
    durable_.erase(durable);
  }
}

void SubscriptionTable::Remove(Subscription& subscription) {
  FreeClaims(subscription);
  std::erase_if(ending_, [&subscription](const auto& held) {
    return held.get() == &subscription;
  });
  subscription.subscriber = nullptr;
}

NextMessage SubscriptionTable::Next(Subscription& subscription,
                                    const SessionView& view) const {
  subscription.idle = false;
  if (subscription.end.has_value()) return EndCall{*subscription.end};
  if (subscription.marked.has_value()) {
    const uint64_t marked = *subscription.marked;
    subscription.marked.reset();
    return SendMarked{marked};
  }
  if (subscription.HasCredit()) {
    if (std::shared_ptr<const PublishedStep> step =
            view.window.Get(subscription.next)) {
      const SubscribeRequest& request = subscription.request;
      // One that was decided before an update of the layout.
      if (!TakesLayout(request, *step->spec)) {
        subscription.end = LayoutDiffers(
            request, *step->spec, absl::StrCat("step ", subscription.next, "'s"));
        return EndCall{*subscription.end};
      }
      const Clock::TimePoint ready =
          std::max(step->decided, subscription.credit_times.Take(subscription.next));
      ++subscription.next;
      const auto sharers = sharers_.find({request.dp_rank, request.cp_rank});
      return SendStep{std::move(step),
                      subscription.HasCredit() && subscription.next < view.window.end(),
                      sharers != sharers_.end() && sharers->second > 1, ready};
    }
    // It was read too slowly: every rank made durable what this one has not read.
    if (subscription.next < view.window.begin()) {
      subscription.end = StepLetGo(subscription.next, view.window.begin());
      return EndCall{*subscription.end};
    }
  }
  if (view.drained && subscription.next == view.window.end() &&
      !subscription.drained_told) {
    subscription.drained_told = true;
    return SendDrained{view.window.end(), view.window.last_digest()};
  }
  if (!subscription.instead_of_waiting.ok() && !view.drained &&
      subscription.next == view.window.end()) {
    subscription.end = subscription.instead_of_waiting;
    return EndCall{*subscription.end};
  }
  subscription.idle = true;
  return NothingYet{subscription.drained_told || !subscription.HasCredit()};
}

bool SubscriptionTable::HasWork(const Subscription& subscription,
                                const SessionView& view) {
  if (subscription.end.has_value() || subscription.marked.has_value()) return true;
  if (subscription.next < view.window.end()) return subscription.HasCredit();
  if (view.drained) return !subscription.drained_told;
  return !subscription.instead_of_waiting.ok();
}

absl::Status SubscriptionTable::Received(Subscription& subscription, uint64_t step) {
  if (step >= subscription.next) {
    return absl::OutOfRangeError(absl::StrCat(
        "received: step ", step, " was not sent on this call; accepted: below ",
        subscription.next));
  }
  subscription.received = std::max(subscription.received, step + 1);
  return absl::OkStatus();
}

void SubscriptionTable::EndThoseThatWait(const absl::Status& status) {
  for (const auto& [claim, subscription] : claims_) {
    subscription->instead_of_waiting = status;
  }
}

void SubscriptionTable::EndAll(const absl::Status& status) {
  for (const auto& [claim, subscription] : claims_) {
    if (!subscription->end.has_value()) subscription->end = status;
    ending_.push_back(subscription);
  }
  claims_.clear();
  sharers_.clear();
  durable_.clear();
}

bool SubscriptionTable::TakeIfWoken(Subscription& subscription,
                                    const SessionView& view) {
  if (!subscription.idle || !HasWork(subscription, view)) return false;
  subscription.idle = false;
  return true;
}

std::vector<std::shared_ptr<Subscriber>> SubscriptionTable::TakeWoken(
    const SessionView& view) {
  std::vector<std::shared_ptr<Subscriber>> woken;
  const auto take = [&](Subscription& subscription) {
    if (TakeIfWoken(subscription, view)) woken.push_back(subscription.subscriber);
  };
  for (const auto& [claim, subscription] : claims_) take(*subscription);
  for (const auto& subscription : ending_) take(*subscription);
  return woken;
}

SubscriberFigures SubscriptionTable::Figures(const StepWindow& window) const {
  SubscriberFigures figures;
  uint64_t next = window.begin();
  for (const auto& [claim, subscription] : claims_) {
    const uint64_t lag = LagSteps(*subscription, window);
    figures.min_lag_steps =
        figures.subscribers == 0 ? lag : std::min(figures.min_lag_steps, lag);
    ++figures.subscribers;
    figures.total_lag_steps += lag;
    figures.max_lag_steps = std::max(figures.max_lag_steps, lag);
    figures.unused_credits += subscription->UnusedCredits();
    next = std::max(next, subscription->next);
  }
  figures.ready_steps = window.end() - std::min(next, window.end());
  return figures;
}

std::vector<SubscriberStatus> SubscriptionTable::Slowest(const StepWindow& window,
                                                         size_t most) const {
  std::vector<const Subscription*> slowest;
  slowest.reserve(claims_.size());
  for (const auto& [claim, subscription] : claims_) {
    slowest.push_back(subscription.get());
  }
  // Claims are in the order of ranks and names, which a stable sort keeps.
  std::stable_sort(slowest.begin(), slowest.end(),
                   [&window](const Subscription* a, const Subscription* b) {
                     return LagSteps(*a, window) > LagSteps(*b, window);
                   });
  slowest.resize(std::min(slowest.size(), most));
  std::vector<SubscriberStatus> told;
  told.reserve(slowest.size());
  for (const Subscription* subscription : slowest) {
    const SubscribeRequest& request = subscription->request;
    told.push_back({request.dp_rank, request.cp_rank, request.subscriber,
                    request.sends_durable, subscription->next, subscription->received,
                    LagSteps(*subscription, window), subscription->UnusedCredits()});
  }
  return told;
}

}  // namespace evenpack
