#include "server/control/step_forecast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "server/control/job_recorder.h"
#include "server/core/cost/named_models.h"
#include "tests/server/sessions/made_steps.h"

namespace evenpack {
namespace {

using testing::MakeSteps;
using testing::SmallSpec;
using testing::StepPointer;

ModelSpec Model() { return NamedModel("7B").value(); }

ForecastTermsOf Terms(const CostScales& scales = {}) {
  return [scales](const JobSpec&) { return ForecastTerms{Model(), 500e12, scales}; };
}

// 2 DP ranks with 2 micro-batches each, 2 CP ranks, 2 stages of a pipeline.
JobSpec PipelinedSpec() {
  JobSpec spec = SmallSpec();
  spec.pipeline_parallel = 2;
  return spec;
}

StepPointer MakeStep(const JobSpec& spec, uint64_t index = 0) {
  return Publish(MakeSteps(index, 1).front()->step, GenesisDigest(),
                 std::make_shared<const JobSpec>(spec), {})
      .value();
}

// As StepForecast says it predicts.
StepPrediction Expected(const PublishedStep& step, double peak_flops) {
  ClusterSpec cluster;
  cluster.context_parallel = 2;
  cluster.pipeline_parallel = 2;
  cluster.data_parallel = 2;
  cluster.peak_flops = peak_flops;
  const auto costs =
      ClusterCosts::Create(Model(), cluster, step.spec->kernel_latency).value();
  std::vector<MicroBatchCost> of;
  for (const ShardPlan& plan : step.plans) of.push_back(costs.CostOf(plan));
  return PredictStep(costs, of, 1);
}

TEST(StepForecastTest, IsThePredictionForTheJobsShapeModelAndGpu) {
  StepForecast forecast(Terms());
  const StepPointer step = MakeStep(PipelinedSpec());
  const std::optional<StepPrediction> prediction = forecast.Predict(*step);
  ASSERT_TRUE(prediction.has_value());
  const StepPrediction expected = Expected(*step, 500e12);
  EXPECT_EQ(prediction->step_ns, expected.step_ns);
  EXPECT_EQ(prediction->bound_ns, expected.bound_ns);
  EXPECT_EQ(prediction->packing_ns, expected.packing_ns);
  EXPECT_EQ(prediction->cp_sharding_ns, expected.cp_sharding_ns);
  EXPECT_EQ(prediction->pipeline_ns, expected.pipeline_ns);
  EXPECT_EQ(prediction->communication_ns, expected.communication_ns);
  EXPECT_GT(prediction->step_ns, prediction->bound_ns);
}

TEST(StepForecastTest, MeasuredScalesMakeItLonger) {
  const StepPointer step = MakeStep(PipelinedSpec());
  const int64_t as_modelled = StepForecast(Terms()).Predict(*step)->step_ns;
  const CostScales attention{2 * CostScales::kOne, CostScales::kOne};
  const CostScales linear{CostScales::kOne, 2 * CostScales::kOne};
  EXPECT_GT(StepForecast(Terms(attention)).Predict(*step)->step_ns, as_modelled);
  EXPECT_GT(StepForecast(Terms(linear)).Predict(*step)->step_ns, as_modelled);
}

TEST(StepForecastTest, WithoutAModelThereIsNone) {
  const StepPointer step = MakeStep(PipelinedSpec());
  EXPECT_FALSE(StepForecast(nullptr).Predict(*step).has_value());
  EXPECT_FALSE(StepForecast([](const JobSpec&) { return std::nullopt; })
                   .Predict(*step)
                   .has_value());
}

TEST(StepForecastTest, WhereTheModelCannotBeSpreadSoThereIsNone) {
  JobSpec spec = PipelinedSpec();
  spec.tensor_parallel = Model().query_heads + 1;
  EXPECT_FALSE(StepForecast(Terms()).Predict(*MakeStep(spec)).has_value());
  spec = PipelinedSpec();
  spec.pipeline_parallel = Model().layers + 1;
  EXPECT_FALSE(StepForecast(Terms()).Predict(*MakeStep(spec)).has_value());
  spec = PipelinedSpec();
  // Chunks of an interleaved pipeline come in groups of at least PP micro-batches.
  spec.pipeline_parallel = 4;
  spec.policy.balanced.virtual_stages = 2;
  EXPECT_FALSE(StepForecast(Terms()).Predict(*MakeStep(spec)).has_value());
}

TEST(StepForecastTest, ASpecIsReadOnce) {
  int reads = 0;
  StepForecast forecast([&reads](const JobSpec&) {
    ++reads;
    return ForecastTerms{Model(), 500e12, {}};
  });
  const StepPointer step = MakeStep(PipelinedSpec());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(forecast.Predict(*step).has_value());
  EXPECT_EQ(reads, 1);
  EXPECT_TRUE(forecast.Predict(*MakeStep(PipelinedSpec(), 1)).has_value());
  EXPECT_EQ(reads, 2);
}

TEST(StepForecastTest, OfLargeStepsSomeArePredicted) {
  // So many slices that it is every third step's turn.
  const auto predicted = [](uint64_t index) {
    const StepPointer small = MakeStep(PipelinedSpec(), index);
    auto large = std::make_shared<PublishedStep>(*small);
    large->rank_loads[0][0].slices = StepForecast::kMostOperations;
    StepForecast forecast(Terms());
    EXPECT_TRUE(forecast.Predict(*small).has_value());
    return forecast.Predict(*large).has_value();
  };
  for (const uint64_t index : {0U, 3U, 6U}) EXPECT_TRUE(predicted(index)) << index;
  for (const uint64_t index : {1U, 2U, 4U}) EXPECT_FALSE(predicted(index)) << index;
}

TEST(StepForecastTest, OfAJobWithoutAModelNothingIsCounted) {
  const StepPointer step = MakeStep(PipelinedSpec());
  JobRecorder recorder("job");
  EXPECT_FALSE(recorder.Figures().prediction.possible) << "without a shape";
  recorder.Reshape(step->spec, 0);
  EXPECT_FALSE(recorder.Figures().prediction.possible);
}

TEST(StepForecastTest, IsCountedWithTheStep) {
  JobRecorder recorder("job", Terms());
  const StepPointer step = MakeStep(PipelinedSpec());
  recorder.Reshape(step->spec, 0);
  EXPECT_TRUE(recorder.Figures().prediction.possible);
  EXPECT_EQ(recorder.Figures().prediction.steps, 0U);
  for (int i = 0; i < 2; ++i) {
    NewStep added;
    added.step = step;
    added.batches_admitted = 1;
    JobChange change;
    change.steps.push_back(added);
    recorder.Queue(std::move(change), 0);
  }
  const PredictionFigures figures = recorder.Figures().prediction;
  const StepPrediction expected = Expected(*step, 500e12);
  EXPECT_EQ(figures.steps, 2U);
  EXPECT_DOUBLE_EQ(figures.step_seconds, 2e-9 * static_cast<double>(expected.step_ns));
  EXPECT_DOUBLE_EQ(figures.even_seconds, 2e-9 * static_cast<double>(expected.bound_ns));
  EXPECT_NEAR(std::accumulate(figures.seconds.begin(), figures.seconds.end(), 0.0),
              figures.step_seconds - figures.even_seconds, 1e-12);
  EXPECT_GT(figures.step_seconds, figures.even_seconds);
}

TEST(StepForecastTest, ThoseThatAreDueAreAskedForOnceUntilTheyAreMade) {
  JobRecorder recorder("job", Terms());
  const StepPointer step = MakeStep(PipelinedSpec());
  recorder.Reshape(step->spec, 0);
  const auto add = [&](size_t steps) {
    NewStep added;
    added.step = step;
    added.batches_admitted = 1;
    JobChange change;
    change.steps.assign(steps, added);
    recorder.Queue(std::move(change), 0);
    recorder.AddQueued();
  };
  add(1);
  EXPECT_FALSE(recorder.AreForecastsDue()) << "few";
  for (int i = 0; i < 2; ++i) {
    add(16);
    EXPECT_TRUE(recorder.AreForecastsDue());
    EXPECT_FALSE(recorder.AreForecastsDue()) << "asked for";
    recorder.AddForecasts();
    EXPECT_FALSE(recorder.AreForecastsDue()) << "made";
  }
}

}  // namespace
}  // namespace evenpack
