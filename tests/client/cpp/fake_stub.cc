#include "tests/client/cpp/fake_stub.h"

#include <utility>

namespace evenpack::testing {

template class FakeCall<v1::IngestRequest, v1::IngestResponse>;
template class FakeCall<v1::StreamStepsRequest, v1::StreamStepsResponse>;
template class FakeCall<v1::JoinGroupRequest, v1::JoinGroupResponse>;

FakeStub::FakeStub() = default;
FakeStub::~FakeStub() = default;

template <typename Call>
std::unique_ptr<typename Call::Stream> FakeStub::Open(Calls<Call>& calls,
                                                      const std::stop_token& stop) {
  auto call = std::make_shared<Call>();
  {
    MutexLock lock(mutex_);
    calls.push_back(call);
    changed_.SignalAll();
  }
  return std::make_unique<typename Call::Stream>(std::move(call), stop);
}

template <typename Call>
std::shared_ptr<Call> FakeStub::Await(Calls<Call>& calls) {
  MutexLock lock(mutex_);
  while (calls.empty()) changed_.Wait(mutex_);
  auto call = std::move(calls.front());
  calls.pop_front();
  return call;
}

template <typename Call>
size_t FakeStub::Count(const Calls<Call>& calls) const {
  MutexLock lock(mutex_);
  return calls.size();
}

std::unique_ptr<client::IngestStream> FakeStub::Ingest(const std::stop_token& stop) {
  return Open(ingest_calls_, stop);
}

std::unique_ptr<client::StepStream> FakeStub::StreamSteps(const std::stop_token& stop) {
  return Open(step_calls_, stop);
}

std::unique_ptr<client::GroupStream> FakeStub::JoinGroup(const std::stop_token& stop) {
  return Open(group_calls_, stop);
}

std::shared_ptr<FakeIngestCall> FakeStub::AwaitIngestCall() {
  return Await(ingest_calls_);
}

std::shared_ptr<FakeStepCall> FakeStub::AwaitStepCall() { return Await(step_calls_); }

std::shared_ptr<FakeGroupCall> FakeStub::AwaitGroupCall() {
  return Await(group_calls_);
}

size_t FakeStub::ingest_calls() const { return Count(ingest_calls_); }

size_t FakeStub::step_calls() const { return Count(step_calls_); }

}  // namespace evenpack::testing
