#include "server/service/status_conversion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"
#include "server/runtime/status_detail.h"
#include "tests/server/service/status_details.h"

namespace evenpack {
namespace {

using google::rpc::BadRequest;
using google::rpc::ErrorInfo;
using google::rpc::QuotaFailure;
using google::rpc::RetryInfo;
using testing::DetailIn;
using ::testing::EndsWith;
using testing::FieldIn;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(StatusConversionTest, OkHasNoDetails) {
  const grpc::Status status = ToGrpc(absl::OkStatus());
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.error_details(), "");
}

TEST(StatusConversionTest, CodeAndMessageAreAsTheyWereWithAReasonAlways) {
  for (int code = 1; code <= 16; ++code) {
    const auto absl_code = static_cast<absl::StatusCode>(code);
    const grpc::Status status = ToGrpc(absl::Status(absl_code, "what happened"));
    EXPECT_EQ(static_cast<int>(status.error_code()), code);
    EXPECT_EQ(status.error_message(), "what happened");
    const auto info = DetailIn<ErrorInfo>(status).value();
    EXPECT_EQ(info.domain(), "evenpack");
    EXPECT_EQ(info.reason(), absl::StatusCodeToString(absl_code));
    EXPECT_TRUE(info.metadata().empty());
  }
}

TEST(StatusConversionTest, TheWholeStatusIsInTheDetails) {
  const grpc::Status status = ToGrpc(absl::AbortedError("epoch: old"));
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  EXPECT_EQ(details.code(), 10);
  EXPECT_EQ(details.message(), "epoch: old");
}

TEST(StatusConversionTest, ReasonAndValuesAreErrorInfo) {
  const grpc::Status status =
      ToGrpc(WithDetail(absl::OutOfRangeError("step: 3 was let go"),
                        {"STEP_LET_GO", {{"oldest_step", "7"}, {"job", "a"}}}));
  const auto info = DetailIn<ErrorInfo>(status).value();
  EXPECT_EQ(info.reason(), "STEP_LET_GO");
  EXPECT_EQ(info.metadata().size(), 2U);
  EXPECT_EQ(info.metadata().at("oldest_step"), "7");
  EXPECT_EQ(info.metadata().at("job"), "a");
}

TEST(StatusConversionTest, ARefusedFieldIsABadRequest) {
  const absl::Status refused = InvalidField("spec.streams[0].name", "''", "a name");
  const auto detail = DetailIn<BadRequest>(ToGrpc(refused)).value();
  ASSERT_EQ(detail.field_violations_size(), 1);
  EXPECT_EQ(detail.field_violations(0).field(), "spec.streams[0].name");
  EXPECT_EQ(detail.field_violations(0).description(),
            "spec.streams[0].name: '' is not accepted; accepted: a name");
  // Where no field was named as such, the message's beginning says it.
  EXPECT_EQ(FieldIn(ToGrpc(absl::InvalidArgumentError("page_size: -1"))), "page_size");
  EXPECT_EQ(FieldIn(ToGrpc(absl::InvalidArgumentError("a sentence: no field"))), "");
  EXPECT_EQ(FieldIn(ToGrpc(absl::OutOfRangeError("step: 3"))), "");
}

// A client takes 8 KiB of trailers, with the text percent-encoded and the details in
// base64, and tells nothing of those that are longer.
TEST(StatusConversionTest, AnErrorIsShortWhateverWasSent) {
  const std::string name = std::string(100'000, 'x') + "\xf0\x9f\x94\xa5";
  std::string fire;
  for (int i = 0; i < 1000; ++i) fire += "\xf0\x9f\x94\xa5";
  for (const std::string& sent : {name, fire}) {
    const absl::Status refused =
        WithDetail(InvalidField("name", absl::StrCat("'", sent, "'"), "1 to 256 bytes"),
                   {"JOB_NOT_FOUND", {{"job", sent}}});
    const grpc::Status status = ToGrpc(refused);
    EXPECT_LT(3 * status.error_message().size() + 4 * status.error_details().size() / 3,
              7000U);
    EXPECT_THAT(status.error_message(), HasSubstr(" bytes left out]"));
    EXPECT_THAT(status.error_message(), StartsWith("name: '"));
    EXPECT_THAT(status.error_message(), EndsWith("accepted: 1 to 256 bytes"));
    google::rpc::Status details;
    // It fails for a text that is not UTF-8.
    ASSERT_TRUE(details.ParseFromString(status.error_details()));
    EXPECT_EQ(details.message(), status.error_message());
    EXPECT_EQ(FieldIn(status), "name");
    EXPECT_LT(DetailIn<ErrorInfo>(status)->metadata().at("job").size(), 300U);
  }
}

TEST(StatusConversionTest, UnavailableSaysWhenToTryAgain) {
  const grpc::Status status = ToGrpc(absl::UnavailableError("server: it drains"));
  const auto retry = DetailIn<RetryInfo>(status).value();
  EXPECT_EQ(retry.retry_delay().seconds(), 0);
  EXPECT_EQ(retry.retry_delay().nanos(), 500'000'000);
  EXPECT_FALSE(DetailIn<RetryInfo>(ToGrpc(absl::AbortedError("x"))).has_value());
}

TEST(StatusConversionTest, AJobIsToBeAskedForWhereItIsLed) {
  const absl::Status unavailable = absl::UnavailableError("job: it is not here");
  const auto retry_of = [&unavailable](const char* reason) {
    return DetailIn<RetryInfo>(ToGrpc(WithDetail(unavailable, {reason, {}})));
  };
  EXPECT_FALSE(retry_of("LED_ELSEWHERE").has_value());
  EXPECT_EQ(retry_of("NO_LEADER")->retry_delay().nanos(), 200'000'000);
}

TEST(StatusConversionTest, ResourceExhaustedSaysWhichBound) {
  const grpc::Status status =
      ToGrpc(absl::ResourceExhaustedError("jobs: there are 3, as many as may be"));
  const auto quota = DetailIn<QuotaFailure>(status).value();
  ASSERT_EQ(quota.violations_size(), 1);
  EXPECT_EQ(quota.violations(0).subject(), "jobs");
  EXPECT_EQ(quota.violations(0).description(), "jobs: there are 3, as many as may be");
  EXPECT_FALSE(DetailIn<QuotaFailure>(ToGrpc(absl::AbortedError("x"))).has_value());
}

}  // namespace
}  // namespace evenpack
