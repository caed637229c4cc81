#include "client/agent/status_relay.h"

#include <gmock/gmock.h>
#include <grpcpp/support/status.h>
#include <gtest/gtest.h>

#include "client/cpp/error_details.h"
#include "client/cpp/grpc_status.h"
#include "server/runtime/status_detail.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::agent {
namespace {

TEST(StatusRelayTest, WhatTheServerSaidIsSaidAgain) {
  client::ErrorDetails details;
  details.reason = "EPOCH_ENDED";
  details.domain = "evenpack";
  details.metadata = {{"epoch", "4"}};
  details.retry_delay = std::chrono::milliseconds(500);
  const absl::Status said =
      client::WithDetails(absl::AbortedError("epoch: the job is in epoch 4"), details);
  const absl::Status heard = client::FromGrpcStatus(Relayed(said));
  EXPECT_EQ(heard.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(heard.message(), said.message());
  EXPECT_EQ(client::DetailsOf(heard), details);
}

TEST(StatusRelayTest, WhatIsSaidHereIsWordedAsTheServerWould) {
  const absl::Status heard = client::FromGrpcStatus(
      Relayed(WithDetail(absl::UnavailableError("agent: away"), {"DRAINING", {}})));
  EXPECT_EQ(heard.message(), "agent: away");
  const client::ErrorDetails details = client::DetailsOf(heard);
  EXPECT_EQ(details.reason, "DRAINING");
  EXPECT_TRUE(details.retry_delay.has_value());
  EXPECT_TRUE(Relayed(absl::OkStatus()).ok());
}

TEST(StatusRelayTest, AnErrorOfTheNetworksSaysNoMoreThanItsCode) {
  const absl::Status heard =
      client::FromGrpcStatus(Relayed(absl::UnavailableError("connection reset")));
  EXPECT_EQ(heard.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(client::DetailsOf(heard).reason, "UNAVAILABLE");
}

}  // namespace
}  // namespace evenpack::agent
