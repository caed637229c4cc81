#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cpp/client.h"
#include "evenpack/v1/job.pb.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::StatusIs;
using ::testing::HasSubstr;

TEST(ClientConnect, RefusesOptionsThatCannotWork) {
  EXPECT_THAT(Client::Connect({}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("address: ''")));
}

TEST(ClientConnect, WhetherThereIsAServerShowsWithTheFirstCall) {
  ClientOptions options{.address = "unix:" + ::testing::TempDir() + "nobody"};
  options.backoff.total = std::chrono::milliseconds(0);
  absl::StatusOr<Client> client = Client::Connect(options);
  ASSERT_THAT(client, IsOk());
  EXPECT_THAT(client->GetJob("run"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("")));
}

}  // namespace
}  // namespace evenpack::client
