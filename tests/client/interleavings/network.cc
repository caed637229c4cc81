#include "tests/client/interleavings/network.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>
#include <utility>

#include "client/cpp/routed_stub.h"
#include "evenpack/v1/packing_service.pb.h"
#include "tests/client/cpp/fake_stub.h"
#include "tests/client/interleavings/stepped_stream.h"

namespace evenpack::testing {
namespace {

class NetworkStub final : public ::testing::NiceMock<FakeStub> {
 public:
  NetworkStub(Network& network, size_t address, std::string whose, RestingMark& mark)
      : network_(network), address_(address), whose_(std::move(whose)), mark_(mark) {}
  std::unique_ptr<client::IngestStream> Ingest(const std::stop_token& stop) override {
    return std::make_unique<SteppedStream<v1::IngestRequest, v1::IngestResponse>>(
        network_.Open(address_, CallKind::kIngest, whose_, mark_), stop);
  }
  std::unique_ptr<client::StepStream> StreamSteps(
      const std::stop_token& stop) override {
    return std::make_unique<
        SteppedStream<v1::StreamStepsRequest, v1::StreamStepsResponse>>(
        network_.Open(address_, CallKind::kSteps, whose_, mark_), stop);
  }

 private:
  Network& network_;
  const size_t address_;
  const std::string whose_;
  RestingMark& mark_;
};

}  // namespace

std::shared_ptr<SteppedCall> Network::Open(size_t address, CallKind kind,
                                           const std::string& whose,
                                           RestingMark& mark) {
  auto call = std::make_shared<SteppedCall>(mark);
  journal_.Note(whose, " opens a call at ", address);
  MutexLock lock(mutex_);
  calls_.push_back({address, kind, whose, call});
  return call;
}

Network::Calls Network::calls() {
  MutexLock lock(mutex_);
  std::erase_if(calls_, [](const Call& call) { return call.call->is_over(); });
  return calls_;
}

void Network::EndServing(size_t address) {
  servers_.erase(address);
  constexpr int kMostRounds = 5000;
  for (int round = 0; round < kMostRounds; ++round) {
    bool open = false;
    for (const Call& call : calls()) {
      if (call.address != address || call.call->is_done()) continue;
      open = true;
      call.call->Refuse();
      call.call->Cut();
      call.call->CompleteWrite();
      while (call.call->Notice()) {
      }
      call.call->Conclude();
    }
    if (!open) return;
    // Some wait for threads of the server's.
    if (round > 100) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  journal_.Print();
  ADD_FAILURE() << "a call doesn't end at a server that does";
  std::abort();
}

bool Network::Accept(const Call& call, const Calls& calls) {
  if (call.call->is_accepted()) return false;
  const auto server = servers_.find(call.address);
  if (server == servers_.end()) return call.call->Refuse();
  // They are handed over in the order in which they came.
  for (const Call& before : calls) {
    if (before.call == call.call) break;
    if (before.address != call.address) continue;
    if (!before.call->is_accepted() && !before.call->is_done()) {
      return Accept(before, calls);
    }
  }
  return call.call->Accept([&](const grpc::ServerContextBase& context) {
    return server->second(call.kind, context);
  });
}

bool Network::Step(const Call& call, const Calls& calls, uint32_t step) {
  static constexpr const char* kNames[kSteps] = {"accept",   "upload",   "write",
                                                 "conclude", "download", "notice"};
  const auto did = [&] {
    switch (step) {
      case 0:
        return Accept(call, calls);
      case 1:
        return call.call->Upload();
      case 2:
        return call.call->CompleteWrite();
      case 3:
        return call.call->Conclude();
      case 4:
        return call.call->Download();
      default:
        return call.call->Notice();
    }
  };
  if (!did()) return false;
  journal_.Note(kNames[step], " ", call.whose, " at ", call.address);
  return true;
}

void Network::StepOne() {
  const Calls open = calls();
  if (open.empty()) return;
  const Call& call = dice_.OneOf(open);
  const uint32_t first = dice_.Draw(kSteps - 1);
  // What a server need not learn soon is that a client is gone.
  const uint32_t most = dice_.Draw(3) == 0 ? kSteps : kSteps - 1;
  for (uint32_t i = 0; i < kSteps; ++i) {
    const uint32_t step = (first + i) % kSteps;
    if (step < most && Step(call, open, step)) return;
  }
}

void Network::CutOne() {
  const Calls open = calls();
  if (open.empty()) return;
  const Call& call = dice_.OneOf(open);
  if (call.call->Cut()) journal_.Note("cut ", call.whose, " at ", call.address);
}

bool Network::StepAll() {
  bool did = false;
  const Calls open = calls();
  for (const Call& call : open) {
    for (uint32_t step = 0; step < kSteps; ++step) {
      while (Step(call, open, step)) did = true;
    }
  }
  return did;
}

bool SteppedSleeper::Sleep(std::chrono::nanoseconds, const std::stop_token& stop) {
  const std::stop_callback on_stop(stop, [this] {
    MutexLock lock(mutex_);
    changed_.SignalAll();
  });
  MutexLock lock(mutex_);
  ++sleepers_;
  mark_.Set(true);
  const uint64_t since = wakes_;
  while (wakes_ == since && !stop.stop_requested()) changed_.Wait(mutex_);
  --sleepers_;
  return !stop.stop_requested();
}

bool SteppedSleeper::Wake() {
  MutexLock lock(mutex_);
  if (sleepers_ == 0) return false;
  ++wakes_;
  mark_.Set(false);
  changed_.SignalAll();
  return true;
}

ClientProcess::ClientProcess(Network& network, std::string name, const Clock& clock,
                             const std::vector<std::string>& addresses)
    : name_(std::move(name)) {
  options_.clock = &clock;
  options_.sleeper = sleeper_;
  options_.random = [] { return 0.5; };
  options_.backoff.total = std::chrono::hours(24 * 365);
  stub_ =
      client::MakeRoutedStub(addresses, [this, &network](const std::string& address) {
        return std::make_shared<NetworkStub>(
            network, static_cast<size_t>(std::stoul(address)), name_, mark_);
      });
}

void ClientProcess::Rest() {
  constexpr int kYields = 60;
  constexpr int kNaps = 5;
  for (int i = 0; i < kYields && !mark_.rests(); ++i) std::this_thread::yield();
  for (int i = 0; i < kNaps && !mark_.rests(); ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  // Then it waits for room, or for work.
  mark_.Set(true);
}

}  // namespace evenpack::testing
