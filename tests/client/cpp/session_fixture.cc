#include "tests/client/cpp/session_fixture.h"

namespace evenpack::testing {

absl::Status ServerError(absl::StatusCode code, const std::string& message,
                         const std::string& reason) {
  client::ErrorDetails details;
  details.reason = reason;
  details.domain = "evenpack";
  return client::WithDetails(absl::Status(code, message), details);
}

SessionFixture::SessionFixture()
    : sleeper_(std::make_shared<client::FakeSleeper>(clock_)),
      stub_(std::make_shared<::testing::NiceMock<FakeStub>>()) {
  client_options_.clock = &clock_;
  client_options_.sleeper = sleeper_;
  client_options_.random = [] { return 0.5; };
}

SessionFixture::~SessionFixture() = default;

}  // namespace evenpack::testing
