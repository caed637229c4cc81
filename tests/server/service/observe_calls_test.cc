#include "server/service/observe_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/server/service/service_spec.h"
#include "tests/server/service/status_details.h"
#include "tests/server/service/test_server.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using grpc::StatusCode;
using testing::DoIngest;
using testing::GrpcStatusIs;
using ::testing::HasSubstr;
using testing::IngestClient;
using testing::IsGrpcOk;
using testing::IsOk;
using testing::RefusesField;
using testing::ServiceSpec;
using testing::StepsClient;
using testing::SubscribeTo;
using testing::TestServer;

class ObserveCallsTest : public ::testing::Test {
 protected:
  void MakeJob(const v1::JobSpec& spec, const std::vector<uint32_t>& lengths) {
    ASSERT_THAT(server_.Create("job", spec), IsGrpcOk());
    ASSERT_THAT(DoIngest(*server_.jobs().Find("job").value(), 0, lengths), IsOk());
  }
  // "job" with so many steps.
  void MakeJob(size_t steps) {
    MakeJob(ServiceSpec(), std::vector<uint32_t>(8 * steps, 50));
  }
  v1::ObserveJobResponse Observe(uint32_t steps = 0, uint64_t from_step = 0) {
    v1::ObserveJobRequest request;
    request.set_job("job");
    request.set_steps(steps);
    request.set_from_step(from_step);
    v1::ObserveJobResponse response;
    EXPECT_THAT(Call(request, response), IsGrpcOk());
    return response;
  }
  grpc::Status Call(const v1::ObserveJobRequest& request,
                    v1::ObserveJobResponse& response) {
    grpc::ClientContext context;
    return server_.stub().ObserveJob(&context, request, &response);
  }
  grpc::Status ObserveMicroBatch(const std::string& job, uint64_t step,
                                 uint32_t micro_batch,
                                 v1::ObserveMicroBatchResponse& response) {
    v1::ObserveMicroBatchRequest request;
    request.set_job(job);
    request.set_step(step);
    request.set_micro_batch(micro_batch);
    grpc::ClientContext context;
    return server_.stub().ObserveMicroBatch(&context, request, &response);
  }

  TestServer server_;
};

TEST_F(ObserveCallsTest, AJobIsToldWithItsLastStepsAndWhoFollows) {
  MakeJob(3);
  v1::Subscribe subscribe = SubscribeTo("job", 1);
  subscribe.set_subscriber("trainer");
  StepsClient steps(server_, subscribe);
  steps.ReadSubscribed();
  steps.ReadStep();
  IngestClient producer(server_, "job");
  const v1::ObserveJobResponse observed = Observe();
  EXPECT_EQ(observed.job().name(), "job");
  EXPECT_EQ(observed.job().next_step(), 3U);
  ASSERT_EQ(observed.steps_size(), 3);
  EXPECT_EQ(observed.steps(2).index(), 2U);
  EXPECT_EQ(observed.steps(2).tokens_size(), 4);
  EXPECT_EQ(observed.totals().full_steps(), 3U);
  ASSERT_EQ(observed.subscribers_size(), 1);
  EXPECT_EQ(observed.subscribers(0).subscriber(), "trainer");
  EXPECT_EQ(observed.subscribers(0).lag_steps(), 3U);
  EXPECT_EQ(observed.producers(), 1U);
}

TEST_F(ObserveCallsTest, StepsAreBoundedAndMayBeginLater) {
  MakeJob(250);
  EXPECT_EQ(Observe().steps_size(), 60);
  EXPECT_EQ(Observe(1000).steps_size(), 240);
  EXPECT_EQ(Observe(1000).steps(0).index(), 10U);
  EXPECT_EQ(Observe(2).steps(0).index(), 248U);
  EXPECT_EQ(Observe(0, 245).steps_size(), 5);
  EXPECT_EQ(Observe(0, 250).steps_size(), 0);
}

TEST_F(ObserveCallsTest, AMicroBatchHasTheSlicesOfEveryRank) {
  MakeJob(2);
  v1::ObserveMicroBatchResponse response;
  ASSERT_THAT(ObserveMicroBatch("job", 1, 3, response), IsGrpcOk());
  EXPECT_EQ(response.micro_batch().index(), 3U);
  ASSERT_EQ(response.micro_batch().documents().length_size(), 2);
  EXPECT_FALSE(response.micro_batch().has_slices());
  ASSERT_EQ(response.ranks_size(), 2);
  ASSERT_EQ(response.attended_pairs_size(), 2);
  uint64_t tokens = 0;
  uint64_t pairs = 0;
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(response.ranks(rank).cp_rank(), static_cast<uint32_t>(rank));
    tokens += response.ranks(rank).tokens();
    pairs += response.attended_pairs(rank);
  }
  EXPECT_EQ(tokens, 100U);
  EXPECT_EQ(pairs, 2 * 50 * 51 / 2U);
}

TEST_F(ObserveCallsTest, ASliceIsOneThatGetStepTells) {
  MakeJob(1);
  v1::ObserveMicroBatchResponse observed;
  ASSERT_THAT(ObserveMicroBatch("job", 0, 1, observed), IsGrpcOk());
  for (uint32_t rank = 0; rank < 2; ++rank) {
    v1::GetStepRequest request;
    request.set_job("job");
    request.set_cp_rank(rank);
    v1::GetStepResponse response;
    grpc::ClientContext context;
    ASSERT_THAT(server_.stub().GetStep(&context, request, &response), IsGrpcOk());
    v1::MicroBatch& micro_batch = *response.mutable_step()->mutable_micro_batches(1);
    EXPECT_EQ(observed.ranks(static_cast<int>(rank)).SerializeAsString(),
              micro_batch.slices().SerializeAsString());
    micro_batch.clear_slices();
    EXPECT_EQ(observed.micro_batch().SerializeAsString(),
              micro_batch.SerializeAsString());
  }
}

TEST_F(ObserveCallsTest, WhatThereIsNotIsNamed) {
  MakeJob(1);
  v1::ObserveJobRequest request;
  request.set_job("none");
  v1::ObserveJobResponse response;
  EXPECT_THAT(Call(request, response),
              GrpcStatusIs(StatusCode::NOT_FOUND, "JOB_NOT_FOUND", HasSubstr("none")));
  v1::ObserveMicroBatchResponse micro_batch;
  EXPECT_THAT(ObserveMicroBatch("none", 0, 0, micro_batch),
              GrpcStatusIs(StatusCode::NOT_FOUND, "JOB_NOT_FOUND", HasSubstr("none")));
  EXPECT_THAT(ObserveMicroBatch("job", 1, 0, micro_batch),
              GrpcStatusIs(StatusCode::OUT_OF_RANGE, "STEP_NOT_DECIDED",
                           HasSubstr("not decided yet")));
  EXPECT_THAT(ObserveMicroBatch("job", 0, 4, micro_batch), RefusesField("micro_batch"));
}

TEST_F(ObserveCallsTest, AMicroBatchOfTooManySlicesIsRefused) {
  v1::JobSpec spec = ServiceSpec();
  spec.mutable_parallelism()->set_data(1);
  spec.mutable_parallelism()->set_micro_batches_per_rank(1);
  spec.mutable_parallelism()->set_context(64);
  spec.set_window(200'000);
  spec.set_max_length(200'000);
  // A thousand documents over 128 slots.
  MakeJob(spec, std::vector<uint32_t>(1000, 200));
  v1::ObserveMicroBatchResponse response;
  EXPECT_THAT(ObserveMicroBatch("job", 0, 0, response),
              GrpcStatusIs(StatusCode::RESOURCE_EXHAUSTED, "RESOURCE_EXHAUSTED",
                           HasSubstr("at most 100000")));
}

}  // namespace
}  // namespace evenpack
