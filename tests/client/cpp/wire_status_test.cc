#include "client/cpp/wire_status.h"

#include <gmock/gmock.h>
#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <gtest/gtest.h>

#include <string>

#include "client/cpp/error_details.h"

namespace evenpack::client {
namespace {

using ::testing::HasSubstr;

std::string DetailsWithReason(const std::string& reason) {
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  google::rpc::Status status;
  status.add_details()->PackFrom(info);
  return status.SerializeAsString();
}

TEST(WireStatus, HasCodeMessageAndDetails) {
  const absl::Status status =
      StatusFromWire(10, "epoch: ended", DetailsWithReason("EPOCH_ENDED"));
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(status.message(), "epoch: ended");
  EXPECT_EQ(DetailsOf(status).reason, "EPOCH_ENDED");
}

TEST(WireStatus, DetailsThatAreNoneAreLeftOut) {
  for (const std::string& details : {std::string(), std::string("\xff\xff")}) {
    const absl::Status status = StatusFromWire(14, "gone", details);
    EXPECT_EQ(status, absl::UnavailableError("gone"));
  }
}

TEST(WireStatus, SaysOfAnAnswerWithoutAWordThatTheServerHasNoSuchCall) {
  EXPECT_EQ(StatusFromWire(12, "", ""),
            absl::UnimplementedError(
                "the server has no such call, or could not read the request; accepted: "
                "the address where an evenpack-server of this version or a newer one "
                "listens (--listen), and texts in UTF-8"));
  EXPECT_EQ(StatusFromWire(12, "Method not found!", ""),
            absl::UnimplementedError("Method not found!"));
  EXPECT_EQ(StatusFromWire(13, "", ""), absl::InternalError(""));
}

TEST(WireStatus, SaysOfAnErrorOfHttpsThatAProxyAnswered) {
  const absl::Status bad =
      StatusFromWire(14, "Received http2 header with status: 502", "");
  EXPECT_EQ(bad.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(bad.message()),
              HasSubstr("status: 502; what answered speaks HTTP and no gRPC: a proxy"));
  // Its own routes may be back soon.
  EXPECT_EQ(StatusFromWire(12, "Received http2 header with status: 404", "").code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(StatusFromWire(7, "Received http2 header with status: 403", "").code(),
            absl::StatusCode::kPermissionDenied);
}

TEST(WireStatus, SuccessCarriesNothing) {
  EXPECT_EQ(StatusFromWire(0, "fine", DetailsWithReason("ODD")), absl::OkStatus());
}

}  // namespace
}  // namespace evenpack::client
