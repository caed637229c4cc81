#include "client/cpp/grpc_status.h"

#include <gmock/gmock.h>
#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <grpcpp/support/status.h>
#include <gtest/gtest.h>

#include "client/cpp/error_details.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::StatusIs;

TEST(GrpcStatus, CodesAreTheSameNumbers) {
  EXPECT_THAT(FromGrpcStatus(grpc::Status::OK), IsOk());
  for (int code = 1; code <= 16; ++code) {
    const grpc::Status status(static_cast<grpc::StatusCode>(code), "what it is");
    EXPECT_THAT(FromGrpcStatus(status),
                StatusIs(static_cast<absl::StatusCode>(code), "what it is"));
  }
}

TEST(GrpcStatus, DetailsBecomePayloads) {
  google::rpc::Status details;
  google::rpc::ErrorInfo info;
  info.set_reason("EPOCH_ENDED");
  info.mutable_metadata()->insert({"epoch", "3"});
  details.add_details()->PackFrom(info);
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(2);
  details.add_details()->PackFrom(retry);
  const absl::Status status = FromGrpcStatus(
      grpc::Status(grpc::StatusCode::ABORTED, "ended", details.SerializeAsString()));
  EXPECT_EQ(DetailsOf(status).reason, "EPOCH_ENDED");
  EXPECT_EQ(DetailsOf(status).metadata.at("epoch"), "3");
  EXPECT_EQ(DetailsOf(status).retry_delay, std::chrono::seconds(2));
}

}  // namespace
}  // namespace evenpack::client
