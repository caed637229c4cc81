#include "server/service/latency_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/server/service/service_spec.h"
#include "tests/server/service/status_details.h"
#include "tests/server/service/test_server.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using grpc::ClientContext;
using grpc::StatusCode;
using testing::DoIngest;
using ::testing::ElementsAre;
using testing::GrpcStatusIs;
using ::testing::HasSubstr;
using testing::IsGrpcOk;
using testing::IsOk;
using testing::RefusesField;
using testing::ServiceSpec;
using testing::TestServer;

class LatencyCallsTest : public ::testing::Test {
 protected:
  // "job" with so many steps.
  void MakeJob(size_t steps) {
    ASSERT_THAT(server_.Create("job", ServiceSpec()), IsGrpcOk());
    ASSERT_THAT(DoIngest(*server_.jobs().Find("job").value(), 0,
                         std::vector<uint32_t>(8 * steps, 50)),
                IsOk());
  }
  grpc::Status Report(const v1::ReportLatencyRequest& request,
                      v1::ReportLatencyResponse* response = nullptr) {
    ClientContext context;
    v1::ReportLatencyResponse unused;
    return server_.stub().ReportLatency(&context, request,
                                        response == nullptr ? &unused : response);
  }
  // Both micro-batches of a rank, each of two layers: so long each, forward and
  // backward.
  grpc::Status ReportAttention(uint64_t step, uint32_t dp_rank, uint32_t cp_rank,
                               int64_t pass_ns) {
    v1::ReportLatencyRequest request;
    request.set_job("job");
    request.set_dp_rank(dp_rank);
    request.set_cp_rank(cp_rank);
    for (uint32_t i = 0; i < 2; ++i) {
      v1::MicroBatchLatency& measured = *request.add_micro_batches();
      measured.set_step(step);
      measured.set_micro_batch(2 * dp_rank + i);
      v1::AttentionLatency& attention = *measured.mutable_attention();
      attention.set_forward_passes(2);
      attention.set_backward_passes(2);
      attention.set_forward_ns(2 * pass_ns);
      attention.set_backward_ns(2 * pass_ns);
      attention.set_waited_ns(2000);
    }
    return Report(request);
  }
  grpc::Status Get(const v1::GetLatencyRequest& request,
                   v1::GetLatencyResponse& response) {
    ClientContext context;
    return server_.stub().GetLatency(&context, request, &response);
  }

  TestServer server_;
};

TEST_F(LatencyCallsTest, TellsWhyAStepTookSoLongAndWhoWasLate) {
  MakeJob(3);
  for (const uint64_t step : {0U, 1U}) {
    for (uint32_t rank = 0; rank < 4; ++rank) {
      const int64_t ns = rank == 3 ? 1'000'000 : 50'000;
      ASSERT_THAT(ReportAttention(step, rank / 2, rank % 2, ns), IsGrpcOk());
    }
  }
  ASSERT_THAT(ReportAttention(2, 1, 1, 1000), IsGrpcOk());
  v1::GetLatencyRequest request;
  request.set_job("job");
  v1::GetLatencyResponse response;
  ASSERT_THAT(Get(request, response), IsGrpcOk());
  ASSERT_EQ(response.steps_size(), 3);
  const v1::StepLatency& step = response.steps(1);
  EXPECT_EQ(step.step(), 1U);
  EXPECT_EQ(step.ranks(), 4U);
  EXPECT_EQ(step.ranks_reported(), 4U);
  const v1::StepExcess& excess = step.excess();
  EXPECT_EQ(excess.step_ns(), 4'000'000 + 2000);
  EXPECT_EQ(excess.communication_ns(), 2000);
  EXPECT_GT(excess.machine_ns(), 3'000'000);
  EXPECT_EQ(excess.packing_ns() + excess.cp_sharding_ns() + excess.communication_ns() +
                excess.machine_ns(),
            excess.step_ns() - excess.even_ns());
  EXPECT_GT(excess.scale(), 0);
  EXPECT_EQ(excess.latest().dp_rank(), 1U);
  EXPECT_EQ(excess.latest().cp_rank(), 1U);
  ASSERT_EQ(step.rank_latencies_size(), 4);
  const v1::RankLatency& latest = step.rank_latencies(0);
  EXPECT_EQ(latest.dp_rank(), 1U);
  EXPECT_EQ(latest.cp_rank(), 1U);
  EXPECT_EQ(latest.forward_ns(), 2'000'000);
  EXPECT_EQ(latest.backward_ns(), 2'000'000);
  EXPECT_EQ(latest.waited_ns(), 2000);
  EXPECT_EQ(latest.late_ns(), excess.latest().late_ns());
  EXPECT_GT(latest.predicted_forward_ns(), 0);
  EXPECT_GE(step.rank_latencies(1).late_ns(), step.rank_latencies(3).late_ns());
  // One rank of four.
  EXPECT_EQ(response.steps(2).ranks_reported(), 1U);
  EXPECT_FALSE(response.steps(2).has_excess());
  EXPECT_EQ(response.steps(2).rank_latencies(0).late_ns(), 0);
}

TEST_F(LatencyCallsTest, TellsNoMoreThanIsAskedFor) {
  MakeJob(3);
  for (const uint64_t step : {0U, 1U, 2U}) {
    ASSERT_THAT(ReportAttention(step, 0, 0, 1000), IsGrpcOk());
  }
  v1::GetLatencyRequest request;
  request.set_job("job");
  request.set_steps(2);
  request.set_ranks(1);
  v1::GetLatencyResponse response;
  ASSERT_THAT(Get(request, response), IsGrpcOk());
  ASSERT_EQ(response.steps_size(), 2);
  EXPECT_EQ(response.steps(0).step(), 1U);
  EXPECT_EQ(response.steps(0).rank_latencies_size(), 1);
  request.set_job("none");
  EXPECT_THAT(Get(request, response),
              GrpcStatusIs(StatusCode::NOT_FOUND, "JOB_NOT_FOUND", HasSubstr("none")));
}

TEST_F(LatencyCallsTest, AttentionOutOfItsRangesIsRefused) {
  MakeJob(1);
  const auto refusal = [this](const std::function<void(v1::AttentionLatency&)>& set,
                              bool with_rank = true) {
    v1::ReportLatencyRequest request;
    request.set_job("job");
    if (with_rank) request.set_cp_rank(0);
    set(*request.add_micro_batches()->mutable_attention());
    return Report(request);
  };
  const auto field = [](const std::string& name) {
    return RefusesField("micro_batches[0].attention." + name);
  };
  EXPECT_THAT(refusal([](auto& a) { a.set_forward_passes(65537); }),
              field("forward_passes"));
  EXPECT_THAT(refusal([](auto& a) { a.set_backward_passes(65537); }),
              field("backward_passes"));
  EXPECT_THAT(refusal([](auto& a) { a.set_forward_ns(-1); }), field("forward_ns"));
  EXPECT_THAT(refusal([](auto& a) { a.set_backward_ns((int64_t{1} << 50) + 1); }),
              field("backward_ns"));
  EXPECT_THAT(refusal([](auto& a) { a.set_waited_ns(-1); }), field("waited_ns"));
  EXPECT_THAT(refusal([](auto&) {}, /*with_rank=*/false), RefusesField("cp_rank"));
}

TEST_F(LatencyCallsTest, AReportIsAnsweredWithThePredictions) {
  MakeJob(2);
  v1::ReportLatencyRequest request;
  request.set_job("job");
  request.set_dp_rank(1);
  request.set_step_wait_seconds(0.5);
  request.set_steps_taken(2);
  v1::MicroBatchLatency& measured = *request.add_micro_batches();
  measured.set_step(1);
  measured.set_micro_batch(3);
  measured.set_forward_ns(1000);
  v1::ReportLatencyResponse response;
  ASSERT_THAT(Report(request, &response), IsGrpcOk());
  const auto job = server_.jobs().Find("job").value();
  EXPECT_THAT(response.predicted_forward_ns(),
              ElementsAre(job->FindStep(1).value()->step.micro_batches[3].workload_ns));
  EXPECT_EQ(job->Figures().steps_taken, 2U);
  EXPECT_EQ(job->Figures().measured_over_predicted.count(), 1U);
}

TEST_F(LatencyCallsTest, ReportsThatAreRefused) {
  MakeJob(1);
  const auto refusal =
      [this](const std::function<void(v1::ReportLatencyRequest&)>& set) {
        v1::ReportLatencyRequest request;
        request.set_job("job");
        set(request);
        return Report(request);
      };
  EXPECT_THAT(refusal([](auto& r) { r.set_step_wait_seconds(-1); }),
              RefusesField("step_wait_seconds"));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(refusal([nan](auto& r) { r.set_step_wait_seconds(nan); }),
              RefusesField("step_wait_seconds"));
  EXPECT_THAT(refusal([](auto& r) { r.set_step_wait_seconds(1.1e9); }),
              RefusesField("step_wait_seconds"));
  EXPECT_THAT(refusal([](auto& r) { r.set_steps_taken((uint64_t{1} << 32) + 1); }),
              RefusesField("steps_taken"));
  EXPECT_THAT(refusal([](auto& r) {
                for (int i = 0; i < 65537; ++i) r.add_micro_batches();
              }),
              RefusesField("micro_batches"));
  EXPECT_THAT(refusal([](auto& r) {
                r.add_micro_batches();
                r.add_micro_batches()->set_forward_ns(-1);
              }),
              RefusesField("micro_batches[1].forward_ns"));
  EXPECT_THAT(refusal([](auto& r) { r.add_micro_batches()->set_backward_ns(-1); }),
              RefusesField("micro_batches[0].backward_ns"));
  EXPECT_THAT(
      refusal([](auto& r) { r.set_dp_rank(2); }),
      GrpcStatusIs(StatusCode::OUT_OF_RANGE, "OUT_OF_RANGE", HasSubstr("dp_rank: 2")));
  EXPECT_THAT(
      refusal([](auto& r) { r.set_cp_rank(2); }),
      GrpcStatusIs(StatusCode::OUT_OF_RANGE, "OUT_OF_RANGE", HasSubstr("cp_rank: 2")));
  EXPECT_THAT(
      refusal([](auto& r) { r.add_micro_batches()->set_step(1); }),
      GrpcStatusIs(StatusCode::OUT_OF_RANGE, "STEP_NOT_DECIDED", HasSubstr("step: 1")));
  EXPECT_THAT(refusal([](auto& r) { r.add_micro_batches()->set_micro_batch(2); }),
              GrpcStatusIs(StatusCode::OUT_OF_RANGE, "OUT_OF_RANGE",
                           HasSubstr("micro_batch: 2")));
}

TEST_F(LatencyCallsTest, WholeMicroBatchesSayHowFarTheCostsAreOff) {
  v1::JobSpec spec = ServiceSpec();
  spec.mutable_cost()->mutable_quadratic()->set_crossover_tokens(50);
  spec.mutable_cost()->set_linear_scale(2);
  ASSERT_THAT(server_.Create("job", spec), IsGrpcOk());
  const auto job = server_.jobs().Find("job").value();
  ASSERT_THAT(DoIngest(*job, 0, std::vector<uint32_t>(80, 50)), IsOk());
  v1::GetLatencyRequest request;
  request.set_job("job");
  v1::GetLatencyResponse before;
  ASSERT_THAT(Get(request, before), IsGrpcOk());
  EXPECT_FALSE(before.calibration().has_measured());
  EXPECT_EQ(before.calibration().applied().attention(), 1);
  EXPECT_EQ(before.calibration().applied().linear(), 2);
  EXPECT_EQ(before.calibration().suggested().linear(), 2);
  for (uint64_t step = 0; step < 10; ++step) {
    for (const uint32_t rank : {0U, 1U}) {
      v1::ReportLatencyRequest report;
      report.set_job("job");
      report.set_dp_rank(rank);
      for (uint32_t i = 2 * rank; i < 2 * rank + 2; ++i) {
        v1::MicroBatchLatency& measured = *report.add_micro_batches();
        measured.set_step(step);
        measured.set_micro_batch(i);
        const auto decided = job->FindStep(step).value();
        measured.set_forward_ns(3 * decided->step.micro_batches[i].workload_ns / 2);
      }
      ASSERT_THAT(Report(report), IsGrpcOk());
    }
  }
  // All micro-batches are alike: only the common scale can be told.
  v1::GetLatencyResponse after;
  ASSERT_THAT(Get(request, after), IsGrpcOk());
  EXPECT_EQ(after.calibration().observations(), 40U);
  EXPECT_FALSE(after.calibration().separable());
  EXPECT_NEAR(after.calibration().measured().attention(), 1.5, 0.01);
  EXPECT_NEAR(after.calibration().measured().linear(), 3, 0.01);
  EXPECT_EQ(after.calibration().suggested().attention(), 1.25);
  EXPECT_EQ(after.calibration().suggested().linear(), 2.5);
  EXPECT_EQ(after.calibration().calibrations(), 0U);
}

}  // namespace
}  // namespace evenpack
