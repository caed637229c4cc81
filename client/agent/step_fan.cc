#include "client/agent/step_fan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/cpp/data_loss.h"
#include "client/cpp/error_details.h"
#include "server/runtime/error_reason.h"
#include "server/runtime/status_detail.h"
#include "server/sessions/subscription_table.h"

namespace evenpack::agent {
namespace {

using client::DataLoss;

// Marks are cumulative: beyond so many, the last stands for those before it.
constexpr size_t kMostUnsaidMarks = 64;

absl::Status NotClaimed() {
  return WithDetail(
      absl::FailedPreconditionError(
          "durable: this subscription does not send durable marks; accepted on one "
          "with sends_durable"),
      {kDurableNotClaimed, {}});
}

// The client comes again, and the server then says what is true of that step.
absl::Status AskAgain(uint64_t step, absl::string_view cause) {
  return absl::UnavailableError(
      absl::StrCat("step ", step, ": ", cause, "; subscribe again"));
}

constexpr char kHistoryChanged[] = "the job's history has changed meanwhile";
constexpr char kMadeAnew[] =
    "the job was made anew under the same name, and its shape is another";
constexpr char kEndedMeanwhile[] =
    "what the agent follows has ended, behind another step or before this one came";

}  // namespace

StepFan::StepFan(uint64_t epoch, const client::StepPosition& start,
                 const Bounds& bounds)
    : epoch_(epoch), bounds_(bounds), begin_(*start.next), end_(start) {}

StepFan::Local StepFan::Add(const SubscribeRequest& request, uint64_t from,
                            const Digest128& previous,
                            std::shared_ptr<Subscriber> subscriber,
                            uint64_t durable_steps) {
  auto local = std::make_shared<LocalSubscription>();
  local->at.request = request;
  local->at.subscriber = std::move(subscriber);
  local->at.next = from;
  local->at.received = from;
  local->digest = previous;
  local->durable_steps = durable_steps;
  local->confirmed = connected_;
  TakeClaims(*local);
  if (request.cp_rank.has_value()) ++views_[*request.cp_rank];
  locals_.insert(local);
  if (over_) End(*local, AskAgain(from, kEndedMeanwhile));
  return local;
}

void StepFan::TakeClaims(LocalSubscription& local) {
  const SubscribeRequest& request = local.at.request;
  const auto is_older = [&local](const LocalSubscription* held) {
    return held != nullptr && local.at.subscriber->IsOlderThan(*held->at.subscriber);
  };
  const auto found = claims_.find({request.cp_rank, request.subscriber});
  LocalSubscription* const claim = found == claims_.end() ? nullptr : found->second;
  if (is_older(claim)) return End(local, ClaimTaken(request));
  if (request.sends_durable && is_older(durable_)) {
    return End(local, MarksTaken(request));
  }
  if (claim != nullptr) End(*claim, ClaimTaken(request));
  claims_[{request.cp_rank, request.subscriber}] = &local;
  if (!request.sends_durable) return;
  if (durable_ != nullptr) End(*durable_, MarksTaken(durable_->at.request));
  durable_ = &local;
}

void StepFan::FreeClaims(const LocalSubscription& local) {
  const SubscribeRequest& request = local.at.request;
  const auto claim = claims_.find({request.cp_rank, request.subscriber});
  if (claim != claims_.end() && claim->second == &local) claims_.erase(claim);
  if (durable_ == &local) durable_ = nullptr;
}

void StepFan::Remove(LocalSubscription& local) {
  if (durable_ == &local) {
    unsaid_.clear();
    unconfirmed_.reset();
  }
  FreeClaims(local);
  const auto& cp_rank = local.at.request.cp_rank;
  if (cp_rank.has_value() && --views_[*cp_rank] == 0) views_.erase(*cp_rank);
  local.at.subscriber = nullptr;
  std::erase_if(locals_, [&local](const Local& held) { return held.get() == &local; });
  Trim();
}

void StepFan::End(LocalSubscription& local, const absl::Status& status) {
  if (!local.at.end.has_value()) local.at.end = status;
  FreeClaims(local);
}

void StepFan::EndOfCall(LocalSubscription& local, const absl::Status& status) {
  const char* const cause =
      absl::IsDataLoss(status) ? kHistoryChanged : kEndedMeanwhile;
  End(local, IsOf(local, status) ? status : AskAgain(local.at.next, cause));
}

bool StepFan::IsOf(const LocalSubscription& local, const absl::Status& status) const {
  const std::string reason = client::DetailsOf(status).reason;
  // Both are said of the feed's end.
  if (reason == kStepLetGo) return local.at.next <= end();
  if (reason == kHistoryDiffers) return local.confirmed && local.at.next == end();
  return local.confirmed || !absl::IsDataLoss(status);
}

LocalMessage StepFan::Send(LocalSubscription& local,
                           std::shared_ptr<const HeldStep> step) {
  Subscription& at = local.at;
  if (step->index() != at.next || step->previous_digest() != local.digest ||
      step->epoch() > epoch_) {
    End(local, AskAgain(at.next, kHistoryChanged));
    return EndCall{*at.end};
  }
  ++at.next;
  local.digest = step->digest();
  return SendHeld{std::move(step), at.HasCredit() && Has(local)};
}

LocalMessage StepFan::Next(LocalSubscription& local) {
  Subscription& at = local.at;
  at.idle = false;
  if (at.end.has_value()) return EndCall{*at.end};
  if (at.marked.has_value()) return SendMarked{*std::exchange(at.marked, std::nullopt)};
  if (at.HasCredit()) {
    if (local.fetched != nullptr) {
      return Send(local, std::exchange(local.fetched, nullptr));
    }
    if (Lacks(local)) {
      local.fetching = true;
      return FetchStep{at.next, local.digest};
    }
    if (Has(local)) return Send(local, held_[at.next - begin_]);
  }
  if (IsAtEnd(local)) {
    at.drained_told = true;
    return SendDrained{*drained_, *end_.digest};
  }
  at.idle = true;
  const bool awaits_mark =
      durable_ == &local && (unconfirmed_.has_value() || !unsaid_.empty());
  return NothingYet{(at.drained_told || !at.HasCredit()) && !awaits_mark};
}

bool StepFan::Holds(const LocalSubscription& local) const {
  return local.confirmed && local.at.next >= begin_ && local.at.next < end();
}

bool StepFan::Suits(const LocalSubscription& local) const {
  const std::optional<Layout>& layout = local.at.request.layout;
  const uint64_t epoch = held_[local.at.next - begin_]->epoch();
  // The job's is what the server has subscribed it to.
  if (!layout.has_value() || epoch >= epoch_) return true;
  const auto known = layouts_.find(epoch);
  return known != layouts_.end() && known->second == *layout;
}

bool StepFan::Has(const LocalSubscription& local) const {
  return !local.fetching && Holds(local) && Suits(local);
}

bool StepFan::Lacks(const LocalSubscription& local) const {
  if (local.fetching) return false;
  return local.at.next < begin_ || (Holds(local) && !Suits(local));
}

bool StepFan::IsAtEnd(const LocalSubscription& local) const {
  return local.confirmed && drained_ == local.at.next && !local.at.drained_told;
}

bool StepFan::HasWork(const LocalSubscription& local) const {
  const Subscription& at = local.at;
  if (at.end.has_value() || at.marked.has_value()) return true;
  if (IsAtEnd(local)) return true;
  if (!at.HasCredit()) return false;
  return local.fetched != nullptr || Lacks(local) || Has(local);
}

std::vector<std::shared_ptr<Subscriber>> StepFan::TakeWoken() {
  std::vector<std::shared_ptr<Subscriber>> woken;
  for (const Local& local : locals_) {
    if (!local->at.idle || !HasWork(*local)) continue;
    local->at.idle = false;
    woken.push_back(local->at.subscriber);
  }
  return woken;
}

absl::Status StepFan::Received(LocalSubscription& local, uint64_t step) {
  absl::Status status = SubscriptionTable::Received(local.at, step);
  if (status.ok()) Trim();
  return status;
}

absl::Status StepFan::MarkDurable(LocalSubscription& local, const Mark& mark) {
  if (!local.at.request.sends_durable) return NotClaimed();
  if (local.at.end.has_value()) return *local.at.end;
  if (unsaid_.size() >= kMostUnsaidMarks) unsaid_.pop_back();
  unsaid_.push_back(mark);
  return absl::OkStatus();
}

void StepFan::Fetched(LocalSubscription& local,
                      absl::StatusOr<std::shared_ptr<const HeldStep>> step) {
  local.fetching = false;
  if (step.ok()) {
    const std::optional<Layout>& layout = local.at.request.layout;
    if (layout.has_value()) layouts_[(*step)->epoch()] = *layout;
    local.fetched = *std::move(step);
  } else if (!local.at.end.has_value()) {
    local.at.end = step.status();
  }
}

uint64_t StepFan::RoomEnd() const {
  uint64_t steps = bounds_.steps - std::min<uint64_t>(held_.size(), bounds_.steps);
  if (largest_ > 0) {
    const uint64_t free = bounds_.bytes - std::min(held_bytes(), bounds_.bytes);
    steps = std::min(steps, free / (largest_ * (1 + views_.size())));
  }
  return end() + std::max<uint64_t>(steps, held_.empty() ? 1 : 0);
}

StepFan::Request StepFan::BeginCall() {
  connected_ = false;
  credits_ = static_cast<uint32_t>(
      std::clamp<uint64_t>(RoomEnd() - end(), 1, kUpstreamCredits));
  received_ = end();
  call_sends_durable_ = durable_ != nullptr;
  return {end_, credits_, call_sends_durable_};
}

absl::Status StepFan::Subscribed(uint64_t from_step, const Digest128& previous,
                                 uint64_t durable_steps) {
  if (from_step != end() || previous != *end_.digest) {
    return DataLoss("the server goes on with step ", from_step, " after ",
                    ToHex(previous), "; expected: step ", end(), " after ",
                    ToHex(*end_.digest));
  }
  connected_ = true;
  for (const Local& local : locals_) local->confirmed = true;
  // What the call before may have lost is said again, unless it has come.
  if (unconfirmed_.has_value()) unsaid_.push_front(*unconfirmed_);
  if (unconfirmed_.has_value() && unconfirmed_->step < durable_steps) {
    unsaid_.pop_front();
    Marked(durable_steps);
  }
  return absl::OkStatus();
}

absl::Status StepFan::CheckNext(const HeldStep& step) const {
  if (step.index() == end() && step.previous_digest() == *end_.digest) {
    return absl::OkStatus();
  }
  return DataLoss("step ", step.index(), ": came where step ", end(), " after ",
                  ToHex(*end_.digest), " is next");
}

absl::Status StepFan::Push(std::shared_ptr<const HeldStep> step) {
  if (absl::Status status = CheckNext(*step); !status.ok()) return status;
  end_ = {step->index() + 1, step->digest()};
  bytes_ += step->bytes();
  largest_ = std::max<uint64_t>(largest_, step->bytes());
  held_.push_back(std::move(step));
  while (held_.size() > 1 &&
         (held_.size() > bounds_.steps || held_bytes() > bounds_.bytes)) {
    DropFront();
  }
  return absl::OkStatus();
}

std::optional<StepFan::NextPart> StepFan::PartOfNext() const {
  if (views_.empty()) return std::nullopt;
  return NextPart{{end(), *end_.digest}, views_.begin()->first};
}

absl::Status StepFan::PassOver(const HeldStep& part) {
  if (absl::Status status = CheckNext(part); !status.ok()) return status;
  while (!held_.empty()) DropFront();
  end_ = {part.index() + 1, part.digest()};
  begin_ = end();
  return absl::OkStatus();
}

void StepFan::Marked(uint64_t durable_steps) {
  if (unconfirmed_.has_value() && unconfirmed_->step < durable_steps) {
    unconfirmed_.reset();
  }
  if (durable_ == nullptr || durable_steps < durable_->durable_steps) return;
  durable_->durable_steps = durable_steps;
  durable_->at.marked = durable_steps;
}

absl::Status StepFan::Drained(uint64_t steps, const Digest128& digest) {
  if (steps != end() || digest != *end_.digest) {
    return DataLoss("drained: the job had ", steps, " steps; ", end(), " came");
  }
  drained_ = steps;
  return absl::OkStatus();
}

bool StepFan::Ended(const absl::Status& status) {
  connected_ = false;
  unsaid_.clear();
  const bool had_claim = call_sends_durable_;
  unconfirmed_.reset();
  if (had_claim) {
    if (durable_ != nullptr) EndOfCall(*durable_, status);
    return true;
  }
  over_ = true;
  for (const Local& local : locals_) EndOfCall(*local, status);
  return false;
}

void StepFan::MadeAnew() {
  connected_ = false;
  over_ = true;
  for (const Local& local : locals_) End(*local, AskAgain(local->at.next, kMadeAnew));
}

uint64_t StepFan::ReceivedUpTo() const {
  const uint64_t room_end = RoomEnd();
  return std::min(end(), room_end - std::min<uint64_t>(room_end, credits_));
}

std::optional<uint64_t> StepFan::TakeReceived() {
  if (!connected_) return std::nullopt;
  const bool more_comes = end() < received_ + credits_;
  if (!more_comes && AnyStarves()) {
    while (!held_.empty() && ReceivedUpTo() <= received_) DropFront();
  }
  const uint64_t up_to = ReceivedUpTo();
  if (up_to <= received_) return std::nullopt;
  received_ = up_to;
  return up_to - 1;
}

std::optional<StepFan::Mark> StepFan::TakeMark() {
  if (!connected_ || !call_sends_durable_ || unsaid_.empty()) return std::nullopt;
  const Mark mark = unsaid_.front();
  unsaid_.pop_front();
  if (!unconfirmed_.has_value() || unconfirmed_->step <= mark.step) unconfirmed_ = mark;
  return mark;
}

void StepFan::DropFront() {
  bytes_ -= held_.front()->bytes();
  held_.pop_front();
  ++begin_;
}

void StepFan::Trim() {
  uint64_t needed = end();
  for (const Local& local : locals_) {
    if (!local->at.end.has_value()) needed = std::min(needed, local->at.received);
  }
  while (begin_ < needed) DropFront();
}

bool StepFan::AnyStarves() const {
  return std::any_of(locals_.begin(), locals_.end(), [this](const Local& local) {
    const Subscription& at = local->at;
    return !at.end.has_value() && at.HasCredit() && at.next >= end();
  });
}

}  // namespace evenpack::agent
