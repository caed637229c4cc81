#include "tests/client/cli/online/test_context.h"

namespace evenpack::testing {

TestContext::TestContext()
    : connection(std::make_shared<::testing::StrictMock<client::MockConnection>>()) {}

TestContext::~TestContext() = default;

OnlineContext TestContext::Get() {
  return {out,
          err,
          nullptr,
          interrupt,
          kDefaultServer,
          security_variables,
          [this](const ServerFlags& server) -> absl::StatusOr<client::Client> {
            servers.push_back(server.address);
            security = server.security;
            returned_credits = server.returns_credits;
            return client::Client(connection);
          }};
}

}  // namespace evenpack::testing
