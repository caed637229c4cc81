#include "server/service/json_api.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "server/access/access_control.h"
#include "server/runtime/worker_pool.h"
#include "tests/server/service/service_spec.h"
#include "tests/server/service/status_details.h"
#include "tests/server/service/test_server.h"
#include "tests/testing/awaited.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using Json = nlohmann::json;
using testing::Awaited;
using testing::DoIngest;
using testing::IsGrpcOk;
using testing::IsOk;
using testing::ServiceSpec;
using testing::TestServer;

template <typename Message>
Message Parsed(const HttpResponse& response) {
  Message message;
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(response.body, &message).ok())
      << response.body;
  return message;
}

class JsonApiTest : public ::testing::Test {
 protected:
  JsonApiTest() { AddJsonApi(server_.environment(), pool_, pages_); }
  // A store that stands still goes on, so that all requests are answered.
  ~JsonApiTest() override { server_.room().store().Release(); }
  JsonApiTest(const JsonApiTest&) = delete;
  JsonApiTest& operator=(const JsonApiTest&) = delete;

  void MakeJob(const std::string& name) {
    ASSERT_THAT(server_.Create(name, ServiceSpec()), IsGrpcOk());
    ASSERT_THAT(
        DoIngest(*server_.jobs().Find(name).value(), 0, std::vector<uint32_t>(16, 50)),
        IsOk());
  }
  Awaited<HttpResponse> Ask(const std::string& path,
                            const std::multimap<std::string, std::string>& query = {}) {
    Awaited<HttpResponse> answered;
    pages_.FindFolder(path)->handler({path, query}, answered);
    return answered;
  }

  TestServer server_;
  WorkerPool pool_{2};
  HttpPages pages_;
};

TEST_F(JsonApiTest, JobsAreListedPageByPage) {
  MakeJob("one");
  MakeJob("two");
  const auto first =
      Parsed<v1::ListJobsResponse>(Ask("/api/v1/jobs", {{"page_size", "1"}}).Get());
  ASSERT_EQ(first.jobs_size(), 1);
  EXPECT_EQ(first.jobs(0).name(), "one");
  const auto second = Parsed<v1::ListJobsResponse>(
      Ask("/api/v1/jobs", {{"page_token", first.next_page_token()}}).Get());
  ASSERT_EQ(second.jobs_size(), 1);
  EXPECT_EQ(second.jobs(0).name(), "two");
}

TEST_F(JsonApiTest, AJobAndItsMicroBatchesAreThoseOfTheCalls) {
  MakeJob("job");
  v1::ObserveJobRequest request;
  request.set_job("job");
  request.set_from_step(1);
  v1::ObserveJobResponse called;
  grpc::ClientContext context;
  ASSERT_THAT(server_.stub().ObserveJob(&context, request, &called), IsGrpcOk());
  const auto read = Parsed<v1::ObserveJobResponse>(
      Ask("/api/v1/jobs/job", {{"from_step", "1"}}).Get());
  EXPECT_EQ(read.SerializeAsString(), called.SerializeAsString());
  EXPECT_EQ(read.steps_size(), 1);
  const auto micro_batch = Parsed<v1::ObserveMicroBatchResponse>(
      Ask("/api/v1/jobs/job/steps/1/micro-batches/2").Get());
  EXPECT_EQ(micro_batch.micro_batch().index(), 2U);
  EXPECT_EQ(micro_batch.ranks_size(), 2);
}

TEST_F(JsonApiTest, ErrorsHaveTheirStatusAndReason) {
  MakeJob("job");
  const std::pair<std::string, int> cases[] = {
      {"/api/v1/jobs/none", 404},
      {"/api/v1/jobs/job/steps/2/micro-batches/0", 404},
      {"/api/v1/jobs/job/steps/1/micro-batches/4", 400},
      {"/api/v1/jobs/job/steps/1/micro-batches/x", 400},
      {"/api/v1/jobs/job/steps", 404}};
  for (const auto& [path, status] : cases) {
    const HttpResponse response = Ask(path).Get();
    EXPECT_EQ(response.status, status) << path;
    EXPECT_FALSE(Json::parse(response.body)["details"][0]["reason"].empty()) << path;
  }
}

TEST_F(JsonApiTest, NoJobIsDeniedBeforeAllAreKnown) {
  MakeJob("job");
  bool known = false;
  HttpPages pages;
  AddJsonApi(server_.environment(), pool_, pages, [&known] { return known; });
  const auto status_of = [&pages](const std::string& path) {
    const Awaited<HttpResponse> answered;
    pages.FindFolder(path)->handler({path}, answered);
    return answered.Get().status;
  };
  for (const char* path : {"/api/v1/jobs", "/api/v1/jobs/job", "/api/v1/jobs/none"}) {
    EXPECT_EQ(status_of(path), 503) << path;
  }
  EXPECT_EQ(status_of("/api/v1/jobs/job/steps"), 404);
  known = true;
  EXPECT_EQ(status_of("/api/v1/jobs"), 200);
  EXPECT_EQ(status_of("/api/v1/jobs/none"), 404);
}

TEST_F(JsonApiTest, RequestsThatWaitForTheStoreAreBounded) {
  MakeJob("job");
  server_.room().store().Block();
  const Awaited<absl::Status> marked;
  server_.jobs().Find("job").value()->Submit(Acknowledge{0, 0, 0}, marked);
  server_.room().store().WaitUntilBlocked();
  std::vector<Awaited<HttpResponse>> waiting;
  for (int i = 0; i < kMaxJsonRequests; ++i) waiting.push_back(Ask("/api/v1/jobs/job"));
  const HttpResponse refused = Ask("/api/v1/jobs/job").Get();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(Ask("/api/v1/jobs", {{"page_size", "x"}}).Get().status, 400);
  server_.room().store().Release();
  for (const auto& answered : waiting) EXPECT_EQ(answered.Get().status, 200);
  EXPECT_EQ(Ask("/api/v1/jobs/job").Get().status, 200);
  EXPECT_THAT(marked.Get(), IsOk());
}

TEST_F(JsonApiTest, WithRolesATokenForTheJobIsNeeded) {
  MakeJob("mine");
  MakeJob("other");
  AccessControl access({{{Role::kConsumer, {"mine"}, {}, {{"a", HashOfToken("t")}}}}});
  ServiceEnvironment environment = server_.environment();
  environment.access = &access;
  HttpPages pages;
  AddJsonApi(environment, pool_, pages);
  const auto ask_with = [&pages](const std::string& path,
                                 std::vector<std::string> authorizations) {
    const Awaited<HttpResponse> answered;
    pages.FindFolder(path)->handler({path, {}, "", std::move(authorizations)},
                                    answered);
    return answered.Get();
  };
  const auto ask = [&ask_with](const std::string& path,
                               const std::string& authorization) {
    return ask_with(path, {authorization});
  };
  for (const char* path : {"/api/v1/jobs", "/api/v1/jobs/mine", "/api/v1/jobs/none"}) {
    EXPECT_EQ(ask(path, "").status, 401);
    EXPECT_EQ(ask(path, "Bearer wrong").status, 401);
  }
  EXPECT_EQ(ask("/api/v1/jobs/mine", "Bearer t").status, 200);
  EXPECT_EQ(ask_with("/api/v1/jobs/mine", {}).status, 401);
  // Two leave open which is meant, as they do over gRPC.
  for (const char* second : {"Bearer wrong", "Bearer t", ""}) {
    EXPECT_EQ(ask_with("/api/v1/jobs/mine", {"Bearer t", second}).status, 401);
  }
  for (const char* job : {"other", "none"}) {
    EXPECT_EQ(ask(std::string("/api/v1/jobs/") + job, "Bearer t").status, 403);
  }
  const auto listed = Parsed<v1::ListJobsResponse>(ask("/api/v1/jobs", "Bearer t"));
  ASSERT_EQ(listed.jobs_size(), 1);
  EXPECT_EQ(listed.jobs(0).name(), "mine");
}

}  // namespace
}  // namespace evenpack
