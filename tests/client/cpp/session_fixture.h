// What tests of producers and consumers over a fake stub begin with.
#ifndef EVENPACK_TESTS_CLIENT_CPP_SESSION_FIXTURE_H_
#define EVENPACK_TESTS_CLIENT_CPP_SESSION_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "client/cpp/client_options.h"
#include "client/cpp/error_details.h"
#include "client/cpp/mocks/fake_clock.h"
#include "tests/client/cpp/fake_stub.h"

namespace evenpack::testing {

// An error as the server words it: with a reason.
inline absl::Status ServerError(absl::StatusCode code, const std::string& message,
                                const std::string& reason) {
  client::ErrorDetails details;
  details.reason = reason;
  details.domain = "evenpack";
  return client::WithDetails(absl::Status(code, message), details);
}

// Waits take no time and have no jitter.
class SessionFixture : public ::testing::Test {
 protected:
  SessionFixture() {
    client_options_.clock = &clock_;
    client_options_.sleeper = sleeper_;
    client_options_.random = [] { return 0.5; };
  }

  client::FakeClock clock_;
  const std::shared_ptr<client::FakeSleeper> sleeper_ =
      std::make_shared<client::FakeSleeper>(clock_);
  const std::shared_ptr<::testing::NiceMock<FakeStub>> stub_ =
      std::make_shared<::testing::NiceMock<FakeStub>>();
  client::ClientOptions client_options_;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_CLIENT_CPP_SESSION_FIXTURE_H_
