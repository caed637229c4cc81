// What tests of consumers over a fake stub begin with.
#ifndef EVENPACK_TESTS_CLIENT_CPP_CONSUMER_FIXTURE_H_
#define EVENPACK_TESTS_CLIENT_CPP_CONSUMER_FIXTURE_H_

#include <memory>
#include <optional>

#include "client/cpp/consumer_session.h"
#include "tests/client/cpp/session_fixture.h"
#include "tests/client/cpp/test_history.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::testing {

class ConsumerFixture : public SessionFixture {
 protected:
  ConsumerFixture() {
    options_.job = "run";
    options_.subscriber = "trainer";
    options_.report_interval = std::chrono::milliseconds(0);
  }

  std::unique_ptr<client::ConsumerSession> Open() {
    return std::make_unique<client::ConsumerSession>(stub_, client_options_, options_);
  }

  // The next call, subscribed from there on.
  std::shared_ptr<FakeStepCall> Accept(uint64_t from_step, uint64_t durable_steps = 0) {
    std::shared_ptr<FakeStepCall> call = stub_->AwaitStepCall();
    subscribe_ = call->AwaitMessage().subscribe();
    call->Send(history_.Subscribed(from_step, durable_steps));
    return call;
  }

  // Index of the next step; nothing where the job is drained. Fails on an error.
  static std::optional<uint64_t> NextIndex(client::Consumer& consumer) {
    const absl::StatusOr<std::optional<client::RankStep>> step = consumer.Next();
    EXPECT_THAT(step, IsOk());
    if (!step.ok() || !step->has_value()) return std::nullopt;
    return (*step)->index();
  }

  const TestHistory history_{24};
  client::ConsumerOptions options_;
  // Of the call that was accepted last.
  v1::Subscribe subscribe_;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_CLIENT_CPP_CONSUMER_FIXTURE_H_
