// A server that sends the steps of a history to one rank, as credits allow, and can be
// away.
#ifndef EVENPACK_TESTS_CLIENT_CPP_SIMULATED_SERVER_H_
#define EVENPACK_TESTS_CLIENT_CPP_SIMULATED_SERVER_H_

#include <gmock/gmock.h>

#include <cstdint>
#include <memory>
#include <stop_token>

#include "client/cpp/stub.h"
#include "server/runtime/mutex.h"
#include "tests/client/cpp/fake_stub.h"
#include "tests/client/cpp/test_history.h"

namespace evenpack::testing {

// Thread-safe. It has one call at a time, which the client's thread reads.
class SimulatedServer final : public ::testing::NiceMock<FakeStub> {
 public:
  // `history` must outlive the object.
  explicit SimulatedServer(const TestHistory& history) : history_(history) {}

  std::unique_ptr<client::StepStream> StreamSteps(const std::stop_token& stop) override;

  // Ends the call, and refuses others.
  void GoAway();
  void ComeBack();

  // The client waits for the call's next message, and there is none: it has no credit
  // left, or all steps.
  bool HasNothingToSend() const;
  // Steps that were sent of the call that is open.
  uint64_t sent() const;
  uint64_t durable_steps() const;
  // Calls that were taken; those of them that were refused since the digest was
  // another; attempts while it was away.
  size_t subscribed() const;
  size_t refused_histories() const;
  size_t refused_connections() const;

 private:
  class Call;

  bool MaySend() const EVENPACK_REQUIRES(mutex_) {
    return next_ < received_ + credits_ && next_ < history_.size();
  }
  void Take(const v1::StreamStepsRequest& request) EVENPACK_REQUIRES(mutex_);
  void Subscribe(const v1::Subscribe& subscribe) EVENPACK_REQUIRES(mutex_);
  bool HasMessage() const EVENPACK_REQUIRES(mutex_) {
    return tell_subscribed_ || tell_durable_ || MaySend();
  }
  v1::StreamStepsResponse NextMessage() EVENPACK_REQUIRES(mutex_);

  const TestHistory& history_;
  mutable Mutex mutex_;
  CondVar changed_;
  bool is_there_ EVENPACK_GUARDED_BY(mutex_) = true;
  size_t outages_ EVENPACK_GUARDED_BY(mutex_) = 0;
  bool is_read_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool tell_subscribed_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool tell_durable_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool differs_ EVENPACK_GUARDED_BY(mutex_) = false;
  uint64_t begin_ EVENPACK_GUARDED_BY(mutex_) = 0;
  uint64_t next_ EVENPACK_GUARDED_BY(mutex_) = 0;
  uint64_t received_ EVENPACK_GUARDED_BY(mutex_) = 0;
  uint64_t credits_ EVENPACK_GUARDED_BY(mutex_) = 0;
  uint64_t durable_ EVENPACK_GUARDED_BY(mutex_) = 0;
  size_t subscribed_ EVENPACK_GUARDED_BY(mutex_) = 0;
  size_t refused_histories_ EVENPACK_GUARDED_BY(mutex_) = 0;
  size_t refused_connections_ EVENPACK_GUARDED_BY(mutex_) = 0;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_CLIENT_CPP_SIMULATED_SERVER_H_
