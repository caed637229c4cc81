#include "tests/client/cpp/simulated_server.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "server/core/digest/digest_bytes.h"

namespace evenpack::testing {

class SimulatedServer::Call final : public client::StepStream {
 public:
  Call(SimulatedServer& server, size_t outages, const std::stop_token& stop)
      : server_(server), stop_(stop), outages_(outages), on_stop_(stop, [&server] {
          MutexLock lock(server.mutex_);
          server.changed_.SignalAll();
        }) {}

  void Write(const v1::StreamStepsRequest& message) override {
    MutexLock lock(server_.mutex_);
    if (Ends()) return;
    server_.Take(message);
    server_.changed_.SignalAll();
  }
  void WritesDone() override {}
  void AwaitUnsentBelow(size_t) override {}
  size_t unsent() const override { return 0; }

  bool Read(v1::StreamStepsResponse& message) override {
    MutexLock lock(server_.mutex_);
    server_.is_read_ = true;
    while (!Ends() && !server_.HasMessage()) server_.changed_.Wait(server_.mutex_);
    server_.is_read_ = false;
    if (Ends()) return false;
    message = server_.NextMessage();
    return true;
  }
  absl::Status Finish() override {
    if (stop_.stop_requested()) return absl::CancelledError("CANCELLED");
    MutexLock lock(server_.mutex_);
    if (server_.differs_) return absl::DataLossError("last_digest: differs");
    return absl::UnavailableError("connection refused");
  }

 private:
  // A call that ended stays so, though the server may be back by then.
  bool Ends() const EVENPACK_REQUIRES(server_.mutex_) {
    return !server_.is_there_ || server_.outages_ != outages_ || server_.differs_ ||
           stop_.stop_requested();
  }

  SimulatedServer& server_;
  const std::stop_token stop_;
  // Before this call.
  const size_t outages_;
  const std::stop_callback<std::function<void()>> on_stop_;
};

std::unique_ptr<client::StepStream> SimulatedServer::StreamSteps(
    const std::stop_token& stop) {
  size_t outages = 0;
  {
    MutexLock lock(mutex_);
    tell_subscribed_ = tell_durable_ = false;
    begin_ = next_ = received_ = credits_ = 0;
    outages = outages_;
    if (!is_there_) ++refused_connections_;
  }
  return std::make_unique<Call>(*this, outages, stop);
}

void SimulatedServer::Take(const v1::StreamStepsRequest& request) {
  if (request.has_subscribe()) return Subscribe(request.subscribe());
  if (request.has_received()) {
    received_ = std::max(received_, request.received().step() + 1);
  } else if (request.has_durable()) {
    durable_ = std::max(durable_, request.durable().step() + 1);
    tell_durable_ = true;
  }
}

void SimulatedServer::Subscribe(const v1::Subscribe& subscribe) {
  begin_ = next_ = received_ = subscribe.from_step();
  credits_ = subscribe.credits();
  const bool goes_on = subscribed_ != 0;
  if (goes_on && subscribe.last_digest() != DigestBytes(history_.DigestBefore(next_))) {
    ++refused_histories_;
    differs_ = true;
  }
  ++subscribed_;
  tell_subscribed_ = true;
}

v1::StreamStepsResponse SimulatedServer::NextMessage() {
  if (std::exchange(tell_subscribed_, false)) {
    return history_.Subscribed(next_, durable_);
  }
  if (std::exchange(tell_durable_, false)) return TestHistory::DurableMarked(durable_);
  return history_.Step(next_++);
}

void SimulatedServer::GoAway() {
  MutexLock lock(mutex_);
  is_there_ = false;
  ++outages_;
  changed_.SignalAll();
}

void SimulatedServer::ComeBack() {
  MutexLock lock(mutex_);
  is_there_ = true;
}

bool SimulatedServer::HasNothingToSend() const {
  MutexLock lock(mutex_);
  return is_there_ && is_read_ && credits_ != 0 && !HasMessage();
}

uint64_t SimulatedServer::sent() const {
  MutexLock lock(mutex_);
  return next_ - begin_;
}

uint64_t SimulatedServer::durable_steps() const {
  MutexLock lock(mutex_);
  return durable_;
}

size_t SimulatedServer::subscribed() const {
  MutexLock lock(mutex_);
  return subscribed_;
}

size_t SimulatedServer::refused_histories() const {
  MutexLock lock(mutex_);
  return refused_histories_;
}

size_t SimulatedServer::refused_connections() const {
  MutexLock lock(mutex_);
  return refused_connections_;
}

}  // namespace evenpack::testing
