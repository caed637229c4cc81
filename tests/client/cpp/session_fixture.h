// What tests of producers and consumers over a fake stub begin with.
#ifndef EVENPACK_TESTS_CLIENT_CPP_SESSION_FIXTURE_H_
#define EVENPACK_TESTS_CLIENT_CPP_SESSION_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "client/cpp/client_options.h"
#include "client/cpp/error_details.h"
#include "client/cpp/mocks/fake_clock.h"
#include "tests/client/cpp/fake_stub.h"

namespace evenpack::testing {

// How a call ends whose server went away.
inline const absl::Status kGone = absl::UnavailableError("connection reset");

// An error as the server words it: with a reason.
absl::Status ServerError(absl::StatusCode code, const std::string& message,
                         const std::string& reason);

// Waits take no time and have no jitter.
class SessionFixture : public ::testing::Test {
 protected:
  SessionFixture();
  ~SessionFixture() override;

  client::FakeClock clock_;
  const std::shared_ptr<client::FakeSleeper> sleeper_;
  const std::shared_ptr<::testing::NiceMock<FakeStub>> stub_;
  client::ClientOptions client_options_;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_CLIENT_CPP_SESSION_FIXTURE_H_
