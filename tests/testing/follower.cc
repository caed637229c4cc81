#include "tests/testing/follower.h"

#include <gtest/gtest.h>

#include <utility>
#include <variant>

namespace evenpack::testing {

Follower::Follower(std::shared_ptr<Job> job, const SubscribeRequest& request)
    : job_(std::move(job)), subscribed_(job_->Subscribe(request, bell_)) {}

Follower::~Follower() {
  if (subscribed_.ok()) job_->Unsubscribe(*subscription());
}

NextMessage Follower::Take() {
  while (true) {
    const int wakes = bell_->wakes();
    NextMessage next = Next();
    if (!std::holds_alternative<NothingYet>(next)) return next;
    bell_->WaitUntil(wakes + 1);
  }
}

std::shared_ptr<const PublishedStep> Follower::TakeStep() {
  NextMessage next = Take();
  auto* send = std::get_if<SendStep>(&next);
  if (send == nullptr) {
    ADD_FAILURE() << "message " << next.index() << " instead of a step";
    return nullptr;
  }
  const absl::Status received = Received(send->step->step.index);
  EXPECT_TRUE(received.ok()) << received;
  return std::move(send->step);
}

absl::Status Follower::TakeEnd() {
  const NextMessage next = Take();
  const auto* end = std::get_if<EndCall>(&next);
  if (end != nullptr) return end->status;
  ADD_FAILURE() << "message " << next.index() << " instead of an end";
  return absl::OkStatus();
}

std::vector<std::shared_ptr<const PublishedStep>> Follower::TakeAll() {
  std::vector<std::shared_ptr<const PublishedStep>> steps;
  while (true) {
    NextMessage next = Take();
    if (std::holds_alternative<SendMarked>(next)) continue;
    auto* send = std::get_if<SendStep>(&next);
    if (send == nullptr) {
      EXPECT_TRUE(std::holds_alternative<SendDrained>(next)) << next.index();
      return steps;
    }
    const absl::Status received = Received(send->step->step.index);
    EXPECT_TRUE(received.ok()) << received;
    steps.push_back(std::move(send->step));
  }
}

void Follower::Bell::Wake() {
  MutexLock lock(mutex_);
  ++wakes_;
  changed_.SignalAll();
}

void Follower::Bell::WaitUntil(int wakes) {
  MutexLock lock(mutex_);
  while (wakes_ < wakes) changed_.Wait(mutex_);
}

int Follower::Bell::wakes() const {
  MutexLock lock(mutex_);
  return wakes_;
}

}  // namespace evenpack::testing
