#include "server/service/job_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "server/core/digest/digest_bytes.h"
#include "server/core/document/step.h"
#include "tests/server/service/service_spec.h"
#include "tests/server/service/status_details.h"
#include "tests/server/service/test_server.h"
#include "tests/testing/awaited.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using google::rpc::ErrorInfo;
using google::rpc::QuotaFailure;
using grpc::ClientContext;
using grpc::StatusCode;
using testing::Awaited;
using testing::DetailIn;
using testing::DoIngest;
using ::testing::ElementsAre;
using testing::GrpcStatusIs;
using ::testing::HasSubstr;
using testing::IsGrpcOk;
using testing::IsOk;
using testing::LargeSpec;
using testing::RefusesField;
using testing::ServiceSpec;
using testing::TestServer;

class JobCallsTest : public ::testing::Test {
 protected:
  // "job" with so many steps.
  void MakeJob(size_t steps) {
    ASSERT_THAT(server_.Create("job", ServiceSpec()), IsGrpcOk());
    if (steps == 0) return;
    ASSERT_THAT(DoIngest(*server_.jobs().Find("job").value(), 0,
                         std::vector<uint32_t>(8 * steps, 50)),
                IsOk());
  }
  grpc::Status List(const v1::ListJobsRequest& request,
                    v1::ListJobsResponse& response) {
    ClientContext context;
    response.Clear();
    return server_.stub().ListJobs(&context, request, &response);
  }
  grpc::Status Update(const v1::UpdateJobRequest& request,
                      v1::UpdateJobResponse* response = nullptr) {
    ClientContext context;
    v1::UpdateJobResponse unused;
    return server_.stub().UpdateJob(&context, request,
                                    response == nullptr ? &unused : response);
  }
  grpc::Status GetStep(const v1::GetStepRequest& request, v1::Step* step = nullptr) {
    ClientContext context;
    v1::GetStepResponse response;
    grpc::Status status = server_.stub().GetStep(&context, request, &response);
    if (step != nullptr) *step = response.step();
    return status;
  }
  grpc::Status Report(const v1::ReportLatencyRequest& request) {
    ClientContext context;
    v1::ReportLatencyResponse response;
    return server_.stub().ReportLatency(&context, request, &response);
  }

  TestServer server_;
};

TEST_F(JobCallsTest, AJobIsCreatedAndAnsweredAsItIs) {
  v1::Job created;
  ASSERT_THAT(server_.Create("job", ServiceSpec(), &created), IsGrpcOk());
  EXPECT_EQ(created.name(), "job");
  EXPECT_EQ(created.spec().window(), 100U);
  EXPECT_EQ(created.spec().retention().max_steps_ahead(), 1024U);
  EXPECT_EQ(created.digest(), DigestBytes(GenesisDigest()));
  EXPECT_EQ(created.durable_steps_per_rank_size(), 2);
  EXPECT_EQ(server_.Get("job").ShortDebugString(), created.ShortDebugString());
}

// A server that shares jobs out may give one away as soon as it is committed.
TEST_F(JobCallsTest, AChangeIsAnsweredThoughTheJobIsHandedOverMeanwhile) {
  const auto settle = [](const absl::Status&) {};
  v1::CreateJobRequest create;
  create.set_name("new");
  *create.mutable_spec() = ServiceSpec();
  v1::CreateJobResponse created;
  const Awaited<absl::Status> done;
  server_.room().store().Block();
  Handle(server_.environment(), create, created, done);
  server_.room().store().WaitUntilBlocked();
  const auto job = server_.jobs().Find("new").value();
  job->Pause(settle);
  server_.room().store().Release();
  EXPECT_THAT(done.Get(), IsOk());
  EXPECT_EQ(created.job().name(), "new");
  EXPECT_EQ(created.job().epoch(), 0U);

  job->GoOn();
  v1::UpdateJobRequest update;
  update.set_name("new");
  *update.mutable_spec() = ServiceSpec();
  update.mutable_spec()->mutable_parallelism()->set_data(1);
  v1::UpdateJobResponse updated;
  const Awaited<absl::Status> done_too;
  server_.room().store().Block();
  Handle(server_.environment(), update, updated, done_too);
  server_.room().store().WaitUntilBlocked();
  job->Pause(settle);
  server_.room().store().Release();
  EXPECT_THAT(done_too.Get(), IsOk());
  EXPECT_EQ(updated.job().epoch(), 1U);
}

TEST_F(JobCallsTest, JobsThatAreNotCreated) {
  EXPECT_THAT(server_.Create("a b", ServiceSpec()), RefusesField("name"));
  EXPECT_THAT(server_.Create("", ServiceSpec()), RefusesField("name"));
  v1::JobSpec bad = ServiceSpec();
  bad.mutable_parallelism()->set_expert(65537);
  EXPECT_THAT(server_.Create("job", bad), RefusesField("spec.parallelism.expert"));
  EXPECT_THAT(server_.Create("job", {}), RefusesField("spec.window"));
  v1::JobSpec by_value = ServiceSpec();
  by_value.set_payload_mode(static_cast<v1::PayloadMode>(7));
  EXPECT_THAT(server_.Create("job", by_value), RefusesField("spec.payload_mode"));
  server_.room().store().FailCommits(2);
  EXPECT_THAT(server_.Create("job", ServiceSpec()),
              GrpcStatusIs(StatusCode::UNAVAILABLE, "STORE_FAILED", HasSubstr("full")));
  ASSERT_THAT(server_.Create("job", ServiceSpec()), IsGrpcOk());
  EXPECT_THAT(server_.Create("job", ServiceSpec()),
              GrpcStatusIs(StatusCode::ALREADY_EXISTS, "JOB_EXISTS",
                           HasSubstr("name: 'job' is taken")));
  ASSERT_THAT(server_.Create("b", ServiceSpec()), IsGrpcOk());
  ASSERT_THAT(server_.Create("c", ServiceSpec()), IsGrpcOk());
  const grpc::Status full = server_.Create("d", ServiceSpec());
  EXPECT_THAT(full, GrpcStatusIs(StatusCode::RESOURCE_EXHAUSTED, "TOO_MANY_JOBS",
                                 HasSubstr("there are 3")));
  EXPECT_EQ(DetailIn<QuotaFailure>(full)->violations(0).subject(), "jobs");
}

TEST_F(JobCallsTest, AJobThatThereIsNotIsNotFoundByAnyCall) {
  v1::UpdateJobRequest update;
  update.set_name("other");
  *update.mutable_spec() = ServiceSpec();
  v1::GetStepRequest step;
  step.set_job("other");
  v1::ReportLatencyRequest report;
  report.set_job("other");
  ClientContext context;
  v1::GetJobRequest get;
  get.set_name("other");
  v1::GetJobResponse got;
  const grpc::Status statuses[] = {
      server_.stub().GetJob(&context, get, &got),
      server_.Delete("other"),
      Update(update),
      GetStep(step),
      server_.Acknowledge("other", 0, 0),
      Report(report),
  };
  for (const grpc::Status& status : statuses) {
    EXPECT_THAT(status, GrpcStatusIs(StatusCode::NOT_FOUND, "JOB_NOT_FOUND",
                                     HasSubstr("'other'")));
    EXPECT_EQ(DetailIn<ErrorInfo>(status)->metadata().at("job"), "other");
  }
}

TEST_F(JobCallsTest, JobsAreListedByNameInPages) {
  for (const char* name : {"b", "c", "a"}) {
    ASSERT_THAT(server_.Create(name, ServiceSpec()), IsGrpcOk());
  }
  v1::ListJobsRequest request;
  v1::ListJobsResponse response;
  ASSERT_THAT(List(request, response), IsGrpcOk());
  ASSERT_EQ(response.jobs_size(), 3);
  EXPECT_EQ(response.jobs(0).name(), "a");
  EXPECT_EQ(response.jobs(2).name(), "c");
  EXPECT_EQ(response.jobs(1).spec().window(), 100U);
  EXPECT_EQ(response.next_page_token(), "");

  request.set_page_size(2);
  ASSERT_THAT(List(request, response), IsGrpcOk());
  ASSERT_EQ(response.jobs_size(), 2);
  EXPECT_EQ(response.jobs(1).name(), "b");
  request.set_page_token(response.next_page_token());
  ASSERT_THAT(List(request, response), IsGrpcOk());
  ASSERT_EQ(response.jobs_size(), 1);
  EXPECT_EQ(response.jobs(0).name(), "c");
  EXPECT_EQ(response.next_page_token(), "");

  request.clear_page_token();
  request.set_page_size(3);
  ASSERT_THAT(List(request, response), IsGrpcOk());
  EXPECT_EQ(response.jobs_size(), 3);
  EXPECT_EQ(response.next_page_token(), "") << "nothing comes after";
  request.set_page_size(std::numeric_limits<int32_t>::max());
  ASSERT_THAT(List(request, response), IsGrpcOk());
  EXPECT_EQ(response.jobs_size(), 3);
  request.set_page_size(-1);
  EXPECT_THAT(List(request, response), RefusesField("page_size"));
}

TEST_F(JobCallsTest, APageEndsBeforeItIsTooLargeForAMessage) {
  // Half a MiB each.
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_THAT(server_.Create(name, LargeSpec()), IsGrpcOk());
  }
  v1::ListJobsRequest request;
  std::vector<std::string> names;
  do {
    v1::ListJobsResponse page;
    ASSERT_THAT(List(request, page), IsGrpcOk());
    ASSERT_EQ(page.jobs_size(), 1);
    names.push_back(page.jobs(0).name());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  EXPECT_THAT(names, ElementsAre("a", "b", "c"));

  // Small ones beside it change nothing.
  ASSERT_THAT(server_.Delete("b"), IsGrpcOk());
  ASSERT_THAT(server_.Create("b", ServiceSpec()), IsGrpcOk());
  v1::ListJobsResponse page;
  ASSERT_THAT(List({}, page), IsGrpcOk());
  EXPECT_EQ(page.jobs_size(), 2);
  EXPECT_EQ(page.next_page_token(), "b");
}

TEST_F(JobCallsTest, AnEmptyServerListsNothing) {
  v1::ListJobsResponse response;
  ASSERT_THAT(List({}, response), IsGrpcOk());
  EXPECT_EQ(response.jobs_size(), 0);
}

TEST_F(JobCallsTest, AnUpdateIsAnsweredWithTheJobAsItIsThen) {
  MakeJob(4);
  v1::UpdateJobRequest request;
  request.set_name("job");
  *request.mutable_spec() = ServiceSpec();
  request.mutable_spec()->mutable_parallelism()->set_data(4);
  request.set_from_step(2);
  request.set_expected_epoch(0);
  v1::UpdateJobResponse response;
  ASSERT_THAT(Update(request, &response), IsGrpcOk());
  EXPECT_EQ(response.job().epoch(), 1U);
  EXPECT_EQ(response.job().spec().parallelism().data(), 4U);
  EXPECT_EQ(response.job().next_step(), 3U);
  EXPECT_EQ(response.job().durable_steps_per_rank_size(), 4);
}

TEST_F(JobCallsTest, UpdatesThatAreRefused) {
  MakeJob(4);
  ASSERT_THAT(server_.Acknowledge("job", 0, 1), IsGrpcOk());
  ASSERT_THAT(server_.Acknowledge("job", 1, 1), IsGrpcOk());
  ASSERT_THAT(DoIngest(*server_.jobs().Find("job").value(), 32, {150}), IsOk());
  v1::UpdateJobRequest request;
  request.set_name("job");
  *request.mutable_spec() = ServiceSpec();
  request.set_from_step(1);
  EXPECT_THAT(Update(request), GrpcStatusIs(StatusCode::OUT_OF_RANGE, "OUT_OF_RANGE",
                                            HasSubstr("from_step: 1")));
  request.set_from_step(5);
  EXPECT_THAT(Update(request), GrpcStatusIs(StatusCode::OUT_OF_RANGE, "OUT_OF_RANGE",
                                            HasSubstr("accepted: 2 to 4")));
  request.clear_from_step();
  request.set_expected_epoch(1);
  EXPECT_THAT(Update(request), GrpcStatusIs(StatusCode::ABORTED, "EPOCH_ENDED",
                                            HasSubstr("the job is in epoch 0")));
  request.clear_expected_epoch();
  request.mutable_spec()->set_max_length(100);
  EXPECT_THAT(Update(request),
              GrpcStatusIs(StatusCode::FAILED_PRECONDITION, "FAILED_PRECONDITION",
                           HasSubstr("150 tokens")));
  request.mutable_spec()->set_max_length(150);
  request.mutable_spec()->mutable_streams(0)->set_name("b");
  EXPECT_THAT(Update(request), RefusesField("spec.streams"));
  *request.mutable_spec() = ServiceSpec();
  request.mutable_spec()->set_merge(v1::MERGE_MODE_ARRIVAL);
  EXPECT_THAT(Update(request), RefusesField("spec.merge"));
  request.mutable_spec()->set_window(0);
  EXPECT_THAT(Update(request), RefusesField("spec.window"));
  EXPECT_EQ(server_.Get("job").epoch(), 0U);
}

TEST_F(JobCallsTest, ADeletedJobIsGone) {
  MakeJob(1);
  ASSERT_THAT(server_.Delete("job"), IsGrpcOk());
  EXPECT_THAT(server_.Delete("job"),
              GrpcStatusIs(StatusCode::NOT_FOUND, "JOB_NOT_FOUND", HasSubstr("'job'")));
  EXPECT_THAT(server_.Create("job", ServiceSpec()), IsGrpcOk());
  EXPECT_EQ(server_.Get("job").next_step(), 0U);
}

TEST_F(JobCallsTest, AStepIsGivenAsTheRankWouldReceiveIt) {
  MakeJob(3);
  v1::GetStepRequest request;
  request.set_job("job");
  request.set_step(2);
  request.set_dp_rank(1);
  v1::Step step;
  ASSERT_THAT(GetStep(request, &step), IsGrpcOk());
  EXPECT_EQ(step.index(), 2U);
  EXPECT_EQ(step.micro_batches(0).index(), 2U);
  EXPECT_FALSE(step.micro_batches(0).has_slices());
  request.set_cp_rank(0);
  ASSERT_THAT(GetStep(request, &step), IsGrpcOk());
  EXPECT_EQ(step.micro_batches(0).slices().tokens(), 50U);
}

TEST_F(JobCallsTest, StepsThatCannotBeGiven) {
  MakeJob(3);
  ASSERT_THAT(server_.Acknowledge("job", 0, 0), IsGrpcOk());
  ASSERT_THAT(server_.Acknowledge("job", 1, 0), IsGrpcOk());
  v1::GetStepRequest request;
  request.set_job("job");
  const grpc::Status let_go = GetStep(request);
  EXPECT_THAT(let_go, GrpcStatusIs(StatusCode::OUT_OF_RANGE, "STEP_LET_GO",
                                   HasSubstr("the oldest kept is 1")));
  EXPECT_EQ(DetailIn<ErrorInfo>(let_go)->metadata().at("oldest_step"), "1");
  request.set_step(3);
  const grpc::Status early = GetStep(request);
  EXPECT_THAT(early, GrpcStatusIs(StatusCode::OUT_OF_RANGE, "STEP_NOT_DECIDED",
                                  HasSubstr("the next to be is 3")));
  EXPECT_EQ(DetailIn<ErrorInfo>(early)->metadata().at("next_step"), "3");
  request.set_step(2);
  request.set_dp_rank(2);
  EXPECT_THAT(GetStep(request), RefusesField("dp_rank"));
  request.set_dp_rank(1);
  request.set_cp_rank(2);
  EXPECT_THAT(GetStep(request), RefusesField("cp_rank"));
}

TEST_F(JobCallsTest, AStepIsRefusedWhileItsJobIsDeleted) {
  v1::GetStepRequest request;
  request.set_job("job");
  request.set_dp_rank(99);
  const ServiceEnvironment environment = server_.environment();
  for (int round = 0; round < 200; ++round) {
    MakeJob(1);
    std::atomic<bool> asks = false;
    std::thread asking([&] {
      absl::Status refusal = absl::InvalidArgumentError("");
      while (absl::IsInvalidArgument(refusal)) {
        v1::GetStepResponse response;
        Handle(environment, request, response,
               [&refusal](const absl::Status& status) { refusal = status; });
        asks = true;
      }
      EXPECT_TRUE(absl::IsNotFound(refusal)) << refusal;
    });
    while (!asks) std::this_thread::yield();
    EXPECT_THAT(server_.Delete("job"), IsGrpcOk());
    asking.join();
  }
}

TEST_F(JobCallsTest, AnAcknowledgementIsAnsweredWithWhatIsDurable) {
  MakeJob(3);
  const auto acknowledge = [this](uint64_t step) {
    ClientContext context;
    v1::AcknowledgeRequest request;
    request.set_job("job");
    request.set_dp_rank(1);
    request.set_step(step);
    v1::AcknowledgeResponse response;
    EXPECT_THAT(server_.stub().Acknowledge(&context, request, &response), IsGrpcOk());
    return response.durable_steps();
  };
  EXPECT_EQ(acknowledge(1), 2U);
  EXPECT_EQ(acknowledge(0), 2U);
  EXPECT_EQ(acknowledge(2), 3U);
  EXPECT_THAT(server_.Get("job").durable_steps_per_rank(), ElementsAre(0, 3));
}

TEST_F(JobCallsTest, AcknowledgementsThatAreRefused) {
  MakeJob(1);
  EXPECT_THAT(server_.Acknowledge("job", 0, 1),
              GrpcStatusIs(StatusCode::OUT_OF_RANGE, "OUT_OF_RANGE",
                           HasSubstr("step: 1 is not decided")));
  EXPECT_THAT(server_.Acknowledge("job", 2, 0),
              GrpcStatusIs(StatusCode::OUT_OF_RANGE, "OUT_OF_RANGE",
                           HasSubstr("dp_rank: 2 is not accepted; accepted: 0 to 1")));
  EXPECT_THAT(server_.Acknowledge("job", 0, 0, 1),
              GrpcStatusIs(StatusCode::ABORTED, "EPOCH_ENDED", HasSubstr("epoch: 1")));
}

}  // namespace
}  // namespace evenpack
