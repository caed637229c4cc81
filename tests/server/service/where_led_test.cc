#include "server/service/where_led.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/runtime/worker_pool.h"
#include "server/service/json_api.h"
#include "tests/server/service/service_spec.h"
#include "tests/server/service/small_profile.h"
#include "tests/server/service/status_details.h"
#include "tests/server/service/test_server.h"
#include "tests/testing/awaited.h"

namespace evenpack {
namespace {

using google::rpc::ErrorInfo;
using google::rpc::RetryInfo;
using grpc::StatusCode;
using ::testing::_;
using testing::Awaited;
using testing::DetailIn;
using ::testing::ElementsAre;
using testing::GrpcStatusIs;
using ::testing::HasSubstr;
using testing::IngestClient;
using testing::IsGrpcOk;
using testing::LargeSpec;
using testing::ServiceSpec;
using testing::SharedMemory;
using testing::SharedServer;
using testing::SmallProfile;
using testing::StepsClient;
using testing::SubscribeTo;
using testing::TestServer;

// That of the status's ErrorInfo.
std::string AddressIn(const grpc::Status& status) {
  const auto info = DetailIn<ErrorInfo>(status).value_or(ErrorInfo());
  const auto address = info.metadata().find("address");
  return address == info.metadata().end() ? "" : address->second;
}

class WhereLedTest : public ::testing::Test {
 protected:
  using Stub = v1::PackingService::Stub;

  template <typename Request, typename Response>
  grpc::Status Call(grpc::Status (Stub::*call)(grpc::ClientContext*, const Request&,
                                               Response*),
                    const Request& request, Response* response = nullptr) {
    grpc::ClientContext context;
    Response unused;
    return (here_.stub().*call)(&context, request,
                                response == nullptr ? &unused : response);
  }

  void CreateThere(const std::string& name) {
    ASSERT_THAT(there_.Create(name, ServiceSpec()), IsGrpcOk());
  }
  // Once the job is led there, and no more here.
  void MoveThere() {
    memory_.Move("job", &there_room_.store());
    here_room_.Settle();
    there_room_.Settle();
  }
  grpc::Status PutThere(const std::string& profile) {
    grpc::ClientContext context;
    v1::PutCostProfileRequest request;
    *request.mutable_profile() = SmallProfile(profile);
    v1::PutCostProfileResponse response;
    return there_.profile_stub().PutCostProfile(&context, request, &response);
  }

  SharedMemory memory_;
  SharedServer here_room_{memory_, "here:1"};
  SharedServer there_room_{memory_, "there:2"};
  TestServer here_{here_room_};
  TestServer there_{there_room_};
};

template <typename Request>
Request Named(const std::string& name) {
  Request request;
  if constexpr (requires { request.set_name(name); }) {
    request.set_name(name);
  } else {
    request.set_job(name);
  }
  if constexpr (requires { request.mutable_spec(); }) {
    *request.mutable_spec() = ServiceSpec();
  }
  return request;
}

TEST_F(WhereLedTest, EachUnaryCallAboutAJobSaysWhoLeadsIt) {
  CreateThere("job");
  const std::vector<std::pair<std::string, std::function<grpc::Status()>>> calls = {
      {"GetJob", [&] { return Call(&Stub::GetJob, Named<v1::GetJobRequest>("job")); }},
      {"UpdateJob",
       [&] { return Call(&Stub::UpdateJob, Named<v1::UpdateJobRequest>("job")); }},
      {"DeleteJob",
       [&] { return Call(&Stub::DeleteJob, Named<v1::DeleteJobRequest>("job")); }},
      {"CheckpointJob",
       [&] {
         return Call(&Stub::CheckpointJob, Named<v1::CheckpointJobRequest>("job"));
       }},
      {"RewindJob",
       [&] { return Call(&Stub::RewindJob, Named<v1::RewindJobRequest>("job")); }},
      {"ForkJob",
       [&] { return Call(&Stub::ForkJob, Named<v1::ForkJobRequest>("job")); }},
      {"SkipDocuments",
       [&] {
         return Call(&Stub::SkipDocuments, Named<v1::SkipDocumentsRequest>("job"));
       }},
      {"GetStep",
       [&] { return Call(&Stub::GetStep, Named<v1::GetStepRequest>("job")); }},
      {"Acknowledge",
       [&] { return Call(&Stub::Acknowledge, Named<v1::AcknowledgeRequest>("job")); }},
      {"ReportLatency",
       [&] {
         return Call(&Stub::ReportLatency, Named<v1::ReportLatencyRequest>("job"));
       }},
      {"GetLatency",
       [&] { return Call(&Stub::GetLatency, Named<v1::GetLatencyRequest>("job")); }},
      {"ObserveJob",
       [&] { return Call(&Stub::ObserveJob, Named<v1::ObserveJobRequest>("job")); }},
      {"ObserveMicroBatch", [&] {
         return Call(&Stub::ObserveMicroBatch,
                     Named<v1::ObserveMicroBatchRequest>("job"));
       }}};
  for (const auto& [name, call] : calls) {
    SCOPED_TRACE(name);
    const grpc::Status status = call();
    EXPECT_THAT(status, GrpcStatusIs(StatusCode::UNAVAILABLE, "LED_ELSEWHERE", _));
    EXPECT_EQ(AddressIn(status), "there:2");
    EXPECT_FALSE(DetailIn<RetryInfo>(status).has_value());
  }
  EXPECT_EQ(here_.errors().Figures()[static_cast<size_t>(StatusCode::UNAVAILABLE)],
            calls.size());
}

TEST_F(WhereLedTest, AJobThatNobodyLeadsIsToBeAskedForAgain) {
  CreateThere("job");
  memory_.Move("job", nullptr);
  const grpc::Status status = Call(&Stub::GetJob, Named<v1::GetJobRequest>("job"));
  EXPECT_THAT(status, GrpcStatusIs(StatusCode::UNAVAILABLE, "NO_LEADER", _));
  EXPECT_EQ(DetailIn<RetryInfo>(status)->retry_delay().nanos(), 200'000'000);
}

TEST_F(WhereLedTest, AJobThatThereIsNotIsNotFound) {
  EXPECT_THAT(Call(&Stub::GetJob, Named<v1::GetJobRequest>("job")),
              GrpcStatusIs(StatusCode::NOT_FOUND, "JOB_NOT_FOUND", HasSubstr("'job'")));
  CreateThere("job");
  ASSERT_THAT(there_.Delete("job"), IsGrpcOk());
  EXPECT_THAT(Call(&Stub::GetJob, Named<v1::GetJobRequest>("job")),
              GrpcStatusIs(StatusCode::NOT_FOUND, "JOB_NOT_FOUND", _));
}

TEST_F(WhereLedTest, ANameIsTakenOnAllServers) {
  CreateThere("job");
  EXPECT_THAT(here_.Create("job", ServiceSpec()),
              GrpcStatusIs(StatusCode::ALREADY_EXISTS, "JOB_EXISTS", _));
}

TEST_F(WhereLedTest, StreamsThatBeginElsewhereEndWithWhoLeads) {
  CreateThere("job");
  IngestClient producer(here_);
  EXPECT_TRUE(producer.Open("job"));
  EXPECT_EQ(AddressIn(producer.Finish()), "there:2");
  StepsClient rank(here_, SubscribeTo("job"));
  EXPECT_EQ(AddressIn(rank.Finish()), "there:2");
  grpc::ClientContext context;
  const auto group = here_.stub().JoinGroup(&context);
  v1::JoinGroupRequest open;
  open.mutable_open()->set_job("job");
  EXPECT_TRUE(group->Write(open));
  EXPECT_EQ(AddressIn(group->Finish()), "there:2");
  here_.WaitUntilNoCalls();
}

TEST_F(WhereLedTest, OpenStreamsGoOnWhereTheirJobMoves) {
  ASSERT_THAT(here_.Create("job", ServiceSpec()), IsGrpcOk());
  IngestClient producer(here_, "job");
  v1::Subscribe subscribe = SubscribeTo("job");
  StepsClient rank(here_, subscribe);
  rank.ReadSubscribed();
  ASSERT_TRUE(producer.Send(0, std::vector<uint32_t>(8, 50)));
  producer.ReadUntil(8);
  EXPECT_EQ(rank.ReadStep().index(), 0U);
  MoveThere();
  for (const grpc::Status& status : {producer.Finish(), rank.Finish()}) {
    EXPECT_THAT(status, GrpcStatusIs(StatusCode::UNAVAILABLE, "LED_ELSEWHERE", _));
    EXPECT_EQ(AddressIn(status), "there:2");
  }
  here_.WaitUntilNoCalls();
  IngestClient resumed(there_, "job");
  ASSERT_TRUE(resumed.Send(8, std::vector<uint32_t>(8, 50)));
  resumed.ReadUntil(16);
  subscribe.set_from_step(1);
  StepsClient follower(there_, subscribe);
  follower.ReadSubscribed();
  EXPECT_EQ(follower.ReadStep().index(), 1U);
}

TEST_F(WhereLedTest, WhatAProducerSentBeforeAHandOverIsCommittedAndAnswered) {
  ASSERT_THAT(here_.Create("job", ServiceSpec()), IsGrpcOk());
  IngestClient producer(here_, "job");
  here_room_.room().store().Block();
  ASSERT_TRUE(producer.Send(0, std::vector<uint32_t>(8, 50)));
  here_room_.room().store().WaitUntilBlocked();
  memory_.AskToGive("job");
  here_room_.room().store().Release();
  producer.ReadUntil(8);
  EXPECT_EQ(AddressIn(producer.Finish()), "there:2");
  here_room_.Settle();
  there_room_.Settle();
  EXPECT_EQ(there_.Get("job").streams(0).next_sequence(), 8U);
}

TEST_F(WhereLedTest, AProfileThatAnotherServerHasIsFoundBeforeItIsMissed) {
  v1::JobSpec spec = ServiceSpec();
  spec.set_sharding(v1::SHARDING_ADAPTIVE);
  spec.mutable_cost()->set_profile("small");
  const grpc::Status missed = here_.Create("job", spec);
  EXPECT_THAT(missed, GrpcStatusIs(StatusCode::NOT_FOUND, "PROFILE_NOT_FOUND", _));
  ASSERT_THAT(PutThere("small"), IsGrpcOk());
  grpc::ClientContext context;
  v1::GetCostProfileRequest get;
  get.set_name("small");
  v1::GetCostProfileResponse got;
  EXPECT_THAT(here_.profile_stub().GetCostProfile(&context, get, &got), IsGrpcOk());
  EXPECT_EQ(got.profile().name(), "small");
  ASSERT_THAT(PutThere("other"), IsGrpcOk());
  spec.mutable_cost()->set_profile("other");
  EXPECT_THAT(here_.Create("job", spec), IsGrpcOk());
}

TEST_F(WhereLedTest, JobsAreListedWithThoseThatAreLedElsewhere) {
  ASSERT_THAT(here_.Create("b", ServiceSpec()), IsGrpcOk());
  for (const char* name : {"a", "c", "d"}) CreateThere(name);
  memory_.Move("d", nullptr);
  v1::ListJobsRequest request;
  request.set_page_size(3);
  v1::ListJobsResponse page;
  ASSERT_THAT(Call(&Stub::ListJobs, request, &page), IsGrpcOk());
  ASSERT_EQ(page.jobs_size(), 1);
  EXPECT_EQ(page.jobs(0).name(), "b");
  ASSERT_EQ(page.led_elsewhere_size(), 2);
  EXPECT_EQ(page.led_elsewhere(0).ShortDebugString(),
            "name: \"a\" address: \"there:2\"");
  EXPECT_EQ(page.led_elsewhere(1).name(), "c");
  EXPECT_EQ(page.next_page_token(), "c");
  request.set_page_token("c");
  v1::ListJobsResponse rest;
  ASSERT_THAT(Call(&Stub::ListJobs, request, &rest), IsGrpcOk());
  EXPECT_EQ(rest.jobs_size(), 0);
  ASSERT_EQ(rest.led_elsewhere_size(), 1);
  EXPECT_EQ(rest.led_elsewhere(0).ShortDebugString(), "name: \"d\"");
  EXPECT_EQ(rest.next_page_token(), "");
}

TEST_F(WhereLedTest, EachPageEndsWithItsLastNameWhoeverLeadsIt) {
  for (const char* name : {"a", "c"}) {
    ASSERT_THAT(here_.Create(name, ServiceSpec()), IsGrpcOk());
  }
  for (const char* name : {"b", "d"}) CreateThere(name);
  std::vector<std::string> names;
  v1::ListJobsRequest request;
  request.set_page_size(1);
  do {
    v1::ListJobsResponse page;
    ASSERT_THAT(Call(&Stub::ListJobs, request, &page), IsGrpcOk());
    ASSERT_EQ(page.jobs_size() + page.led_elsewhere_size(), 1);
    names.push_back(page.jobs_size() == 1 ? page.jobs(0).name()
                                          : page.led_elsewhere(0).name());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  EXPECT_THAT(names, ElementsAre("a", "b", "c", "d"));
}

TEST_F(WhereLedTest, APageThatEndsEarlyLeavesTheOthersForTheNext) {
  // Two are too large for one page.
  for (const char* name : {"a", "c"}) {
    ASSERT_THAT(here_.Create(name, LargeSpec()), IsGrpcOk());
  }
  for (const char* name : {"b", "d"}) CreateThere(name);
  v1::ListJobsRequest request;
  v1::ListJobsResponse page;
  ASSERT_THAT(Call(&Stub::ListJobs, request, &page), IsGrpcOk());
  ASSERT_EQ(page.jobs_size(), 1);
  EXPECT_EQ(page.led_elsewhere_size(), 0);
  EXPECT_EQ(page.next_page_token(), "a");
  request.set_page_token("a");
  v1::ListJobsResponse rest;
  ASSERT_THAT(Call(&Stub::ListJobs, request, &rest), IsGrpcOk());
  ASSERT_EQ(rest.jobs_size(), 1);
  EXPECT_EQ(rest.jobs(0).name(), "c");
  ASSERT_EQ(rest.led_elsewhere_size(), 2);
  EXPECT_EQ(rest.led_elsewhere(0).name(), "b");
  EXPECT_EQ(rest.next_page_token(), "");
}

TEST_F(WhereLedTest, OverHttpAJobsServerIsNamed) {
  CreateThere("job");
  WorkerPool pool{1};
  HttpPages pages;
  AddJsonApi(here_.environment(), pool, pages);
  const Awaited<HttpResponse> answered;
  pages.FindFolder("/api/v1/jobs/job")->handler({"/api/v1/jobs/job", {}}, answered);
  EXPECT_EQ(answered.Get().status, 421);
  EXPECT_THAT(answered.Get().body, HasSubstr("there:2"));
  const Awaited<HttpResponse> listed;
  pages.FindFolder("/api/v1/jobs")->handler({"/api/v1/jobs", {}}, listed);
  EXPECT_THAT(listed.Get().body,
              HasSubstr(R"("ledElsewhere":[{"name":"job","address":"there:2"}])"));
}

}  // namespace
}  // namespace evenpack
