#include "server/service/json_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "server/core/document/invalid_field.h"
#include "server/runtime/utf8_text.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

using testing::Draw;
using ::testing::HasSubstr;
using testing::kInvalid;
using testing::StatusIs;
using Query = std::multimap<std::string, std::string>;

template <typename Request>
Request Read(const std::string& path, const Query& query = {}) {
  const auto read = ReadJsonRequest({path, query});
  if (!read.ok() || !std::holds_alternative<Request>(*read)) {
    ADD_FAILURE() << path << ": " << read.status();
    return {};
  }
  return std::get<Request>(*read);
}

TEST(JsonRequestTest, TheFolderItselfListsJobs) {
  EXPECT_EQ(Read<v1::ListJobsRequest>("/api/v1/jobs").page_size(), 0);
  const auto request = Read<v1::ListJobsRequest>(
      "/api/v1/jobs", {{"page_size", "7"}, {"page_token", "run & more"}});
  EXPECT_EQ(request.page_size(), 7);
  EXPECT_EQ(request.page_token(), "run & more");
}

TEST(JsonRequestTest, AJobIsObserved) {
  const auto plain = Read<v1::ObserveJobRequest>("/api/v1/jobs/run-7");
  EXPECT_EQ(plain.job(), "run-7");
  EXPECT_EQ(plain.steps(), 0U);
  EXPECT_EQ(plain.from_step(), 0U);
  const auto request = Read<v1::ObserveJobRequest>(
      "/api/v1/jobs/run-7",
      {{"from_step", "18446744073709551615"}, {"steps", "4294967295"}});
  EXPECT_EQ(request.steps(), 4294967295U);
  EXPECT_EQ(request.from_step(), 18446744073709551615U);
}

TEST(JsonRequestTest, AMicroBatchIsObserved) {
  const auto request =
      Read<v1::ObserveMicroBatchRequest>("/api/v1/jobs/run/steps/12/micro-batches/3");
  EXPECT_EQ(request.job(), "run");
  EXPECT_EQ(request.step(), 12U);
  EXPECT_EQ(request.micro_batch(), 3U);
}

TEST(JsonRequestTest, OtherPathsAreNotFound) {
  for (const std::string path :
       {"", "/", "/api/v1/job", "/api/v1/jobs/", "/api/v1/jobs//", "/api/v1/jobs/a/",
        "/api/v1/jobs/a/steps", "/api/v1/jobs/a/steps/1", "/api/v1/jobs/a/steps/1/",
        "/api/v1/jobs/a/steps/1/micro-batches", "/api/v1/jobs/a/step/1/micro-batches/1",
        "/api/v1/jobs/a/steps/1/micro-batches/1/"}) {
    EXPECT_THAT(ReadJsonRequest({path}),
                StatusIs(absl::StatusCode::kNotFound, HasSubstr("path")))
        << path;
  }
}

// Bytes that no message may have: nothing is to be looked up for them.
TEST(JsonRequestTest, WhatIsNoUtf8IsRefused) {
  const std::string jobs = "/api/v1/jobs";
  for (const char* text :
       {"\xff", "a\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80"}) {
    for (const std::string& path : {jobs + "/" + text, jobs + "/a/" + text,
                                    jobs + "/" + text + "/steps/1/micro-batches/0"}) {
      const absl::Status status = ReadJsonRequest({path}).status();
      EXPECT_THAT(status, StatusIs(kInvalid, HasSubstr("accepted: UTF-8")));
      EXPECT_EQ(RefusedField(status), "path");
      EXPECT_TRUE(IsUtf8(std::string(status.message()))) << status;
    }
    const absl::Status token = ReadJsonRequest({jobs, {{"page_token", text}}}).status();
    EXPECT_THAT(token, StatusIs(kInvalid, HasSubstr("accepted: UTF-8")));
    EXPECT_EQ(RefusedField(token), "page_token");
    EXPECT_THAT(ReadJsonRequest({jobs, {{text, "1"}}}),
                StatusIs(kInvalid, HasSubstr("accepted: ")));
  }
  EXPECT_EQ(Read<v1::ObserveJobRequest>(jobs + "/\xc3\xa4\xf0\x9f\x98\x80").job(),
            "\xc3\xa4\xf0\x9f\x98\x80");
}

struct Refused {
  std::string path;
  Query query;
  std::string field;
};

TEST(JsonRequestTest, WhatIsRefusedIsNamed) {
  const std::string jobs = "/api/v1/jobs";
  const Refused cases[] = {
      {jobs, {{"page_size", ""}}, "page_size"},
      {jobs, {{"page_size", "-1"}}, "page_size"},
      {jobs, {{"page_size", "2147483648"}}, "page_size"},
      {jobs, {{"steps", "1"}}, "steps"},
      {jobs + "/a", {{"steps", "4294967296"}}, "steps"},
      {jobs + "/a", {{"steps", " 1"}}, "steps"},
      {jobs + "/a", {{"steps", "1"}, {"steps", "2"}}, "steps"},
      {jobs + "/a", {{"from_step", "1.5"}}, "from_step"},
      {jobs + "/a", {{"from_step", "18446744073709551616"}}, "from_step"},
      {jobs + "/a", {{"other", ""}}, "other"},
      {jobs + "/a/steps/x/micro-batches/0", {}, "step"},
      {jobs + "/a/steps//micro-batches/0", {}, "step"},
      {jobs + "/a/steps/0/micro-batches/+1", {}, "micro_batch"},
      {jobs + "/a/steps/0/micro-batches/0", {{"steps", "1"}}, "steps"},
  };
  for (const Refused& refused : cases) {
    const auto read = ReadJsonRequest({refused.path, refused.query});
    EXPECT_THAT(read, StatusIs(kInvalid, HasSubstr("accepted: "))) << refused.path;
    EXPECT_EQ(RefusedField(read.status()), refused.field) << refused.path;
  }
}

// Of pieces that mean something, in any order: what is read is what was written.
TEST(JsonRequestTest, WhateverIsAskedIsReadAsWrittenOrRefused) {
  const std::vector<std::string> pieces = {"",  "a", "steps", "micro-batches",
                                           "0", "7", "-1",    "18446744073709551616"};
  const std::vector<std::string> names = {"steps", "from_step", "page_size", "x"};
  std::mt19937_64 random(7);
  const auto pick = [&random](const auto& from) {
    return from[Draw(random, 0, static_cast<uint32_t>(from.size() - 1))];
  };
  size_t accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    HttpRequest request = {"/api/v1/jobs"};
    for (uint32_t n = Draw(random, 0, 6); n > 0; --n)
      request.path += "/" + pick(pieces);
    for (uint32_t n = Draw(random, 0, 2); n > 0; --n) {
      request.query.emplace(pick(names), pick(pieces));
    }
    const auto read = ReadJsonRequest(request);
    if (!read.ok()) {
      EXPECT_TRUE(absl::IsNotFound(read.status()) ||
                  absl::IsInvalidArgument(read.status()));
      continue;
    }
    ++accepted;
    std::string path = "/api/v1/jobs";
    if (const auto* job = std::get_if<v1::ObserveJobRequest>(&*read)) {
      path += "/" + job->job();
    } else if (const auto* part = std::get_if<v1::ObserveMicroBatchRequest>(&*read)) {
      path += absl::StrCat("/", part->job(), "/steps/", part->step(), "/micro-batches/",
                           part->micro_batch());
    }
    EXPECT_EQ(path, request.path);
  }
  EXPECT_GT(accepted, 500U);
}

}  // namespace
}  // namespace evenpack
