#include "server/service/json_response.h"

#include <evenpack/v1/observation.pb.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "server/runtime/status_detail.h"

namespace evenpack {
namespace {

using Json = nlohmann::json;

TEST(JsonResponseTest, AMessageIsWrittenAsProtobufDoesWithDefaults) {
  v1::ObservedSubscriber subscriber;
  subscriber.set_subscriber("<\"a\">");
  subscriber.set_lag_steps(uint64_t{1} << 60);
  const HttpResponse response = JsonOf(subscriber);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "application/json");
  EXPECT_EQ(Json::parse(response.body), Json::parse(R"({
    "dpRank": 0, "subscriber": "<\"a\">", "sendsDurable": false, "nextStep": "0",
    "receivedSteps": "0", "lagSteps": "1152921504606846976", "unusedCredits": "0"})"));
}

TEST(JsonResponseTest, AnErrorIsAStatusWithTheDetailsOfTheCall) {
  const HttpResponse response = JsonOf(
      WithDetail(absl::NotFoundError("job: none"), {"JOB_NOT_FOUND", {{"job", "x"}}}));
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.content_type, "application/json");
  EXPECT_EQ(Json::parse(response.body), Json::parse(R"({
    "code": 5, "message": "job: none",
    "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo",
                 "reason": "JOB_NOT_FOUND", "domain": "evenpack",
                 "metadata": {"job": "x"}}]})"));
}

TEST(JsonResponseTest, AJobThatAnotherServerLeadsWasAskedOfTheWrongOne) {
  const HttpResponse response =
      JsonOf(WithDetail(absl::UnavailableError("job: there"),
                        {"LED_ELSEWHERE", {{"job", "x"}, {"address", "host:1"}}}));
  EXPECT_EQ(response.status, 421);
  EXPECT_EQ(Json::parse(response.body)["details"][0]["metadata"]["address"], "host:1");
}

TEST(JsonResponseTest, CodesHaveTheirHttpStatus) {
  using Code = absl::StatusCode;
  const std::pair<Code, int> cases[] = {
      {Code::kInvalidArgument, 400},   {Code::kFailedPrecondition, 400},
      {Code::kNotFound, 404},          {Code::kOutOfRange, 404},
      {Code::kAborted, 409},           {Code::kAlreadyExists, 409},
      {Code::kUnauthenticated, 401},   {Code::kPermissionDenied, 403},
      {Code::kResourceExhausted, 429}, {Code::kUnavailable, 503},
      {Code::kInternal, 500},          {Code::kDataLoss, 500}};
  for (const auto& [code, status] : cases) {
    const HttpResponse response = JsonOf(absl::Status(code, "why"));
    EXPECT_EQ(response.status, status);
    EXPECT_EQ(Json::parse(response.body)["code"], static_cast<int>(code));
  }
}

TEST(JsonResponseTest, WhoIsUnknownIsToldWhatToShow) {
  const HttpResponse unknown = JsonOf(absl::UnauthenticatedError("no token"));
  EXPECT_EQ(unknown.headers,
            (decltype(unknown.headers){{"WWW-Authenticate", "Bearer"}}));
  EXPECT_TRUE(JsonOf(absl::PermissionDeniedError("no role")).headers.empty());
}

}  // namespace
}  // namespace evenpack
