#include "server/service/observation_conversion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>

#include "evenpack/v1/observation.pb.h"
#include "server/service/spec_conversion.h"
#include "tests/server/service/service_spec.h"

namespace evenpack {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

JobObservation Empty() {
  JobObservation observed;
  JobSpec spec = FromProto(testing::ServiceSpec()).value();
  spec.policy.queue_thresholds = {60, 100};
  observed.status.spec = std::make_shared<const JobSpec>(spec);
  return observed;
}

v1::ObserveJobResponse Told(const JobObservation& observed) {
  v1::ObserveJobResponse response;
  ToProto(observed, response);
  return response;
}

TEST(ObservationConversionTest, EveryFieldOfAStepIsTold) {
  StepObservation step;
  step.index = 1;
  step.epoch = 2;
  step.previous_digest = {0x0807060504030201, 0x100f0e0d0c0b0a09};
  step.kind = StepKind::kBacklog;
  step.sizes = {{3, 4}, {5, 6}, {7, 8}};
  step.original_sizes = {{9, 10}, {11, 12}, {}};
  step.original_imbalance = 1.75;
  step.imbalance = 1.25;
  step.long_document_tokens = 13;
  step.documents = 14;
  step.waiting = {{{15, 16}, {17, 18}}, {19, 20}};
  JobObservation observed = Empty();
  observed.now = step.decided + std::chrono::milliseconds(1500);
  observed.recorded.steps = {std::make_shared<const StepObservation>(step)};
  const v1::ObserveJobResponse response = Told(observed);
  ASSERT_EQ(response.steps_size(), 1);
  const v1::ObservedStep& told = response.steps(0);
  EXPECT_EQ(told.index(), 1U);
  EXPECT_EQ(told.epoch(), 2U);
  EXPECT_EQ(told.kind(), v1::STEP_KIND_BACKLOG);
  EXPECT_EQ(told.age_seconds(), 1.5);
  EXPECT_THAT(told.workload_ns(), ElementsAre(3, 4));
  EXPECT_THAT(told.tokens(), ElementsAre(5, 6));
  EXPECT_THAT(told.padding(), ElementsAre(7, 8));
  EXPECT_THAT(told.original_workload_ns(), ElementsAre(9, 10));
  EXPECT_THAT(told.original_tokens(), ElementsAre(11, 12));
  EXPECT_EQ(told.imbalance(), 1.25);
  EXPECT_EQ(told.original_imbalance(), 1.75);
  EXPECT_EQ(told.long_document_tokens(), 13U);
  EXPECT_EQ(told.documents(), 14U);
  EXPECT_THAT(told.queue_documents(), ElementsAre(15, 17));
  EXPECT_THAT(told.queue_tokens(), ElementsAre(16, 18));
  EXPECT_EQ(told.left_over_documents(), 19U);
  EXPECT_EQ(told.left_over_tokens(), 20U);
  EXPECT_EQ(told.previous_digest(),
            "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10");
}

TEST(ObservationConversionTest, TotalsFollowFromTheFigures) {
  JobObservation observed = Empty();
  JobFigures& figures = observed.figures;
  figures.policy.steps = 2;
  figures.policy.max_workload_seconds = 3;
  figures.policy.mean_workload_seconds = 2;
  figures.original.steps = 4;
  figures.original.max_workload_seconds = 9;
  figures.original.mean_workload_seconds = 3;
  figures.documents_emitted = 5;
  figures.tokens_emitted = 6;
  figures.document_delay.Observe(0, 7);
  figures.document_delay.Observe(2.5, 8);
  figures.document_delay.Observe(1000, 9);
  figures.step_wait_seconds = 0.5;
  figures.steps_taken = 10;
  observed.recorded.full_steps.Add(300);
  observed.recorded.full_steps.Add(500);
  const v1::ObserveJobResponse response = Told(observed);
  const v1::ObservedTotals& totals = response.totals();
  EXPECT_EQ(totals.full_steps(), 2U);
  EXPECT_EQ(totals.original_full_steps(), 4U);
  EXPECT_EQ(totals.weighted_imbalance(), 1.5);
  EXPECT_EQ(totals.original_weighted_imbalance(), 3);
  EXPECT_EQ(totals.documents(), 5U);
  EXPECT_EQ(totals.tokens(), 6U);
  EXPECT_DOUBLE_EQ(totals.mean_step_tokens(), 400);
  EXPECT_DOUBLE_EQ(totals.step_tokens_cv(), 0.25);
  ASSERT_EQ(totals.delay_documents_size(), totals.delay_bounds_size() + 1);
  EXPECT_EQ(totals.delay_bounds(3), 3);
  EXPECT_EQ(totals.delay_documents(0), 7U);
  EXPECT_EQ(totals.delay_documents(3), 8U);
  EXPECT_EQ(*totals.delay_documents().rbegin(), 9U);
  EXPECT_EQ(totals.step_wait_seconds(), 0.5);
  EXPECT_EQ(totals.steps_taken(), 10U);
}

TEST(ObservationConversionTest, OfAJobWithoutStepsTheRatiosAreZero) {
  const v1::ObserveJobResponse response = Told(Empty());
  const v1::ObservedTotals& totals = response.totals();
  EXPECT_EQ(totals.weighted_imbalance(), 0);
  EXPECT_EQ(totals.original_weighted_imbalance(), 0);
  EXPECT_EQ(totals.mean_step_tokens(), 0);
  EXPECT_EQ(totals.step_tokens_cv(), 0);
}

TEST(ObservationConversionTest, QueuesHaveTheirThresholds) {
  JobObservation observed = Empty();
  EXPECT_THAT(Told(observed).queues(), IsEmpty());
  observed.figures.queues = {{1, 2, 3}, {4, 5, 6}};
  const v1::ObserveJobResponse response = Told(observed);
  ASSERT_EQ(response.queues_size(), 2);
  EXPECT_EQ(response.queues(1).threshold(), 100U);
  EXPECT_EQ(response.queues(1).documents(), 4U);
  EXPECT_EQ(response.queues(1).tokens(), 5U);
  EXPECT_EQ(response.queues(1).oldest_batches(), 6U);
  // The job got others meanwhile.
  observed.figures.queues.push_back({7, 8, 9});
  EXPECT_EQ(Told(observed).queues_size(), 2);
}

TEST(ObservationConversionTest, ASubscriberOfAllRanksHasNoRank) {
  JobObservation observed = Empty();
  observed.figures.producers = 3;
  observed.subscribers = {{1, std::nullopt, "a", true, 2, 3, 4, 5}, {0, 0, "b"}};
  const v1::ObserveJobResponse response = Told(observed);
  EXPECT_EQ(response.producers(), 3U);
  ASSERT_EQ(response.subscribers_size(), 2);
  const v1::ObservedSubscriber& all = response.subscribers(0);
  EXPECT_EQ(all.dp_rank(), 1U);
  EXPECT_FALSE(all.has_cp_rank());
  EXPECT_EQ(all.subscriber(), "a");
  EXPECT_TRUE(all.sends_durable());
  EXPECT_EQ(all.next_step(), 2U);
  EXPECT_EQ(all.received_steps(), 3U);
  EXPECT_EQ(all.lag_steps(), 4U);
  EXPECT_EQ(all.unused_credits(), 5U);
  EXPECT_TRUE(response.subscribers(1).has_cp_rank());
}

}  // namespace
}  // namespace evenpack
