#include "client/cpp/error_details.h"

#include <gmock/gmock.h>
#include <google/rpc/error_details.pb.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/cord.h"
#include "client/cpp/backoff.h"

namespace evenpack::client {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(ErrorDetails, AreAllReadBack) {
  ErrorDetails details;
  details.reason = "EPOCH_ENDED";
  details.domain = "evenpack";
  details.metadata = {{"epoch", "3"}, {"window", "1024"}};
  details.field_violations = {{"spec.window", "spec.window: 0 is not accepted"}};
  details.quota_violations = {{"job:run", "16 subscriptions"}};
  details.retry_delay = std::chrono::milliseconds(1500);
  const absl::Status status = WithDetails(absl::AbortedError("epoch: ended"), details);
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(status.message(), "epoch: ended");
  const ErrorDetails read = DetailsOf(status);
  EXPECT_EQ(read, details);
  EXPECT_THAT(read.metadata, ElementsAre(Pair("epoch", "3"), Pair("window", "1024")));
}

TEST(ErrorDetails, AreEmptyWhereThereAreNone) {
  EXPECT_EQ(DetailsOf(absl::UnavailableError("gone")), ErrorDetails{});
  EXPECT_EQ(DetailsOf(absl::OkStatus()), ErrorDetails{});
  EXPECT_EQ(WithDetails(absl::UnavailableError("gone"), {}),
            absl::UnavailableError("gone"));
}

TEST(ErrorDetails, BytesThatAreNoneAreLeftAlone) {
  absl::Status status = absl::InternalError("odd");
  status.SetPayload("type.googleapis.com/google.rpc.ErrorInfo", absl::Cord("\xff\xff"));
  EXPECT_EQ(DetailsOf(status), ErrorDetails{});
}

TEST(ErrorDetails, AWaitThatNoClockCanCountIsAsLongAsAClientMayBeTold) {
  for (const auto& [seconds, read] :
       {std::pair{std::numeric_limits<int64_t>::max(), kLongestWait},
        std::pair{std::numeric_limits<int64_t>::min(), std::chrono::milliseconds(0)}}) {
    google::rpc::RetryInfo retry;
    retry.mutable_retry_delay()->set_seconds(seconds);
    absl::Status status = absl::UnavailableError("busy");
    status.SetPayload("type.googleapis.com/google.rpc.RetryInfo",
                      absl::Cord(retry.SerializeAsString()));
    EXPECT_EQ(DetailsOf(status).retry_delay, read);
  }
}

}  // namespace
}  // namespace evenpack::client
