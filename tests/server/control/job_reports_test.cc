#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/control/job.h"
#include "tests/server/control/small_job.h"
#include "tests/testing/control_room.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::ControlRoom;
using testing::Do;
using testing::DoIngest;
using testing::DoRemove;
using testing::DoUpdate;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::SmallJob;
using testing::StatusIs;
using testing::StepsOfDocuments;

class JobReportsTest : public ::testing::Test {
 protected:
  static void MakeDurable(Job& job, uint64_t step) {
    for (const uint32_t rank : {0U, 1U}) {
      ASSERT_THAT(Do(job, Acknowledge{rank, step, 0}), IsOk());
    }
  }

  ControlRoom room_;
  const std::shared_ptr<Job> job_ = room_.MakeJob(SmallJob());
};

TEST_F(JobReportsTest, AReportIsAnsweredWithThePredictions) {
  ASSERT_THAT(DoIngest(*job_, 0, StepsOfDocuments(3)), IsOk());
  LatencyReport report;
  report.dp_rank = 1;
  report.micro_batches = {{.step = 2, .micro_batch = 3}, {.step = 0, .micro_batch = 2}};
  const auto predicted = job_->ReportLatency(report);
  EXPECT_THAT(
      *predicted,
      ElementsAre(job_->FindStep(2).value()->step.micro_batches[3].workload_ns,
                  job_->FindStep(0).value()->step.micro_batches[2].workload_ns));
}

TEST_F(JobReportsTest, AReportAboutWhatThereIsNotIsOutOfRangeAndCountsNothing) {
  ASSERT_THAT(DoIngest(*job_, 0, StepsOfDocuments(3)), IsOk());
  MakeDurable(*job_, 0);
  struct {
    LatencyReport report;
    std::string message;
  } cases[] = {
      {{}, "dp_rank: 2 is not accepted; accepted: 0 to 1"},
      {{}, "cp_rank: 1 is not accepted; accepted: 0 to 0"},
      {{}, "step: 3 is not decided yet"},
      {{}, "micro_batch: 1 is not one of dp_rank 1; accepted: 2 to 3"},
      {{}, "micro_batch: 4 is not one of dp_rank 1; accepted: 2 to 3"},
  };
  for (auto& refused : cases) {
    refused.report.dp_rank = 1;
    refused.report.steps_taken = 5;
    refused.report.micro_batches = {{.step = 1, .micro_batch = 2, .forward_ns = 1000}};
  }
  cases[0].report.dp_rank = 2;
  cases[1].report.cp_rank = 1;
  cases[2].report.micro_batches.push_back({.step = 3, .micro_batch = 2});
  cases[3].report.micro_batches.push_back({.step = 1, .micro_batch = 1});
  cases[4].report.micro_batches.push_back({.step = 1, .micro_batch = 4});
  for (const auto& refused : cases) {
    EXPECT_THAT(job_->ReportLatency(refused.report),
                StatusIs(absl::StatusCode::kOutOfRange, HasSubstr(refused.message)));
  }
  EXPECT_EQ(job_->Figures().steps_taken, 0U);
  EXPECT_EQ(job_->Figures().measured_over_predicted.count(), 0U);
}

TEST_F(JobReportsTest, OfAReportWhatIsOfStepsThatWereLetGoIsPassedOver) {
  ASSERT_THAT(DoIngest(*job_, 0, StepsOfDocuments(3)), IsOk());
  MakeDurable(*job_, 0);
  LatencyReport report;
  report.dp_rank = 1;
  report.steps_taken = 5;
  report.micro_batches = {{.step = 0, .micro_batch = 2, .forward_ns = 1000},
                          {.step = 1, .micro_batch = 2, .forward_ns = 1000}};
  EXPECT_THAT(
      job_->ReportLatency(report).value(),
      ElementsAre(0, job_->FindStep(1).value()->step.micro_batches[2].workload_ns));
  EXPECT_EQ(job_->Figures().steps_taken, 5U);
  EXPECT_EQ(job_->Figures().measured_over_predicted.count(), 1U);
  // Nothing else says then that there is such a rank.
  report.micro_batches.pop_back();
  EXPECT_THAT(job_->ReportLatency(report).value(), ElementsAre(0));
  report.dp_rank = 2;
  EXPECT_THAT(job_->ReportLatency(report),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("dp_rank: 2")));
  EXPECT_EQ(job_->Figures().steps_taken, 10U);
}

TEST_F(JobReportsTest, AttentionOfAStepThatWasLetGoCountsOnceARankHasJoined) {
  ASSERT_THAT(DoIngest(*job_, 0, StepsOfDocuments(3)), IsOk());
  LatencyReport report;
  report.dp_rank = 1;
  report.cp_rank = 0;
  const MeasuredAttention attention{1, 1, 10, 20, 5};
  MakeDurable(*job_, 0);
  report.micro_batches = {{.step = 0, .micro_batch = 3, .attention = attention}};
  EXPECT_THAT(job_->ReportLatency(report).value(), ElementsAre(0));
  EXPECT_THAT(job_->Latency(8).value(), IsEmpty()) << "nobody was there";
  ASSERT_THAT(
      job_->CheckSeat({.dp_rank = 1, .cp_size = 1, .cp_rank = 0, .member = "m"}),
      IsOk());
  MakeDurable(*job_, 1);
  report.micro_batches = {{.step = 1, .micro_batch = 3, .attention = attention}};
  EXPECT_THAT(job_->ReportLatency(report).value(), ElementsAre(0));
  const auto steps = job_->Latency(8).value();
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].step, 1U);
  EXPECT_EQ(steps[0].ranks[1].forward_ns, 10);
}

TEST_F(JobReportsTest, WhatRanksMeasureIsGatheredUntilTheStepIsWithdrawn) {
  ASSERT_THAT(DoIngest(*job_, 0, StepsOfDocuments(2)), IsOk());
  LatencyReport report;
  report.dp_rank = 1;
  report.micro_batches = {
      {.step = 1, .micro_batch = 3, .attention = MeasuredAttention{1, 1, 10, 20, 5}}};
  ASSERT_THAT(job_->ReportLatency(report), IsOk());
  EXPECT_THAT(job_->Latency(8).value(), IsEmpty()) << "no cp_rank";
  report.cp_rank = 0;
  ASSERT_THAT(job_->ReportLatency(report), IsOk());
  const auto steps = job_->Latency(8).value();
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].step, 1U);
  EXPECT_EQ(steps[0].ranks[1].forward_ns, 10);
  EXPECT_EQ(steps[0].ranks[1].waited_ns, 5);
  ASSERT_THAT(DoUpdate(*job_, SmallJob(), 1), IsOk());
  EXPECT_THAT(job_->Latency(8).value(), IsEmpty());
  ASSERT_THAT(DoRemove(*job_), IsOk());
  EXPECT_THAT(job_->Latency(8).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'job'")));
}

TEST_F(JobReportsTest, AReportOfAStepOfAnEarlierShapeIsHeldToThatShape) {
  ASSERT_THAT(DoIngest(*job_, 0, StepsOfDocuments(1)), IsOk());
  JobSpec wide = SmallJob();
  wide.micro_batches = 8;
  testing::ResolveCosts(wide);
  ASSERT_THAT(DoUpdate(*job_, wide), IsOk());
  LatencyReport report;
  report.dp_rank = 1;
  report.micro_batches = {{.step = 0, .micro_batch = 2}};
  EXPECT_THAT(job_->ReportLatency(report), IsOk());
  report.micro_batches = {{.step = 0, .micro_batch = 4}};
  EXPECT_THAT(job_->ReportLatency(report),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("accepted: 2 to 3")));
}

TEST_F(JobReportsTest, RanksOfAReportAreThoseOfTheStepsShape) {
  ASSERT_THAT(DoIngest(*job_, 0, StepsOfDocuments(1)), IsOk());
  JobSpec other = SmallJob();
  other.context_parallel = 64;
  other.data_parallel = 4;
  testing::ResolveCosts(other);
  ASSERT_THAT(DoUpdate(*job_, other), IsOk());
  const MeasuredMicroBatch measured = {
      .step = 0, .micro_batch = 2, .attention = MeasuredAttention{1, 1, 10, 20, 5}};
  const auto refused = [&](LatencyReport report, const std::string& message) {
    EXPECT_THAT(job_->ReportLatency(report),
                StatusIs(absl::StatusCode::kOutOfRange, message));
  };
  refused({.dp_rank = 1, .cp_rank = 63, .micro_batches = {measured}},
          "cp_rank: 63 is not accepted; accepted: 0 to 0");
  refused({.dp_rank = 3, .cp_rank = 0, .micro_batches = {measured}},
          "dp_rank: 3 is not accepted; accepted: 0 to 1");
  refused({.dp_rank = 4, .cp_rank = 0, .micro_batches = {}},
          "dp_rank: 4 is not accepted; accepted: 0 to 3");
  EXPECT_THAT(job_->ReportLatency({.dp_rank = 3, .cp_rank = 63, .micro_batches = {}}),
              IsOk());
  EXPECT_THAT(
      job_->ReportLatency({.dp_rank = 1, .cp_rank = 0, .micro_batches = {measured}}),
      IsOk());
}

}  // namespace
}  // namespace evenpack
