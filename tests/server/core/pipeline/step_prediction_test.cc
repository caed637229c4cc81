#include "server/core/pipeline/step_prediction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "server/core/pipeline/pipeline_time.h"
#include "tests/server/core/cost/refused_field.h"
#include "tests/server/core/pipeline/event_simulation.h"
#include "tests/server/core/pipeline/random_shape.h"

namespace evenpack {
namespace {

using testing::Draw;
using testing::EventSimulation;

ModelSpec DeepModel() {
  ModelSpec model;
  model.layers = 64;
  model.hidden = 256;
  model.query_heads = 4;
  model.kv_heads = 4;
  model.head_size = 64;
  model.ffn_size = 512;
  model.vocabulary = 1000;
  return model;
}

ClusterSpec Cluster(uint32_t pipeline, uint32_t stages = 1, uint32_t data = 1,
                    uint32_t context = 1) {
  ClusterSpec cluster;
  cluster.pipeline_parallel = pipeline;
  cluster.virtual_stages = stages;
  cluster.data_parallel = data;
  cluster.context_parallel = context;
  return cluster;
}

ClusterCosts Costs(const ClusterSpec& cluster) {
  absl::StatusOr<ClusterCosts> costs = ClusterCosts::Create(DeepModel(), cluster, {});
  EXPECT_TRUE(costs.ok()) << costs.status();
  return *std::move(costs);
}

// Attention, that of the mean rank, other computing, exchanges.
PassCost Cost(int64_t attention, int64_t mean, int64_t linear, int64_t exchange,
              int64_t head = 0) {
  return {attention, mean, linear, exchange, head};
}

int64_t SumOfParts(const StepPrediction& step) {
  return step.bound_ns + step.packing_ns + step.cp_sharding_ns + step.pipeline_ns +
         step.communication_ns;
}

// Passes of milliseconds, so that they hide all weights.
PassCost RandomCost(std::mt19937_64& random) {
  PassCost cost;
  cost.mean_attention_ns = 10'000'000 + Draw(random, 0, 50'000'000);
  cost.attention_ns = cost.mean_attention_ns + Draw(random, 0, 20'000'000);
  cost.linear_ns = Draw(random, 0, 30'000'000);
  cost.exchange_ns = Draw(random, 0, 5'000'000);
  cost.head_ns = Draw(random, 0, 20'000'000);
  return cost;
}

std::vector<MicroBatchCost> RandomStep(std::mt19937_64& random, uint32_t count) {
  std::vector<MicroBatchCost> step;
  for (uint32_t i = 0; i < count; ++i) {
    MicroBatchCost cost;
    if (Draw(random, 0, 9) > 0) {
      cost.tokens = Draw(random, 1, 100'000);
      cost.forward = RandomCost(random);
      cost.backward = RandomCost(random);
      cost.send_ns = Draw(random, 0, 3'000'000);
    }
    step.push_back(cost);
  }
  return step;
}

struct RandomRun {
  ClusterSpec cluster;
  uint32_t group = 1;
  std::vector<MicroBatchCost> step;
};

RandomRun DrawRun(std::mt19937_64& random, uint32_t most_data_parallel) {
  const PipelineShape shape = testing::RandomShape(random);
  RandomRun run;
  run.cluster = Cluster(shape.pipeline_parallel, shape.virtual_stages,
                        Draw(random, 1, most_data_parallel));
  run.group = shape.virtual_pipeline_group;
  run.step = RandomStep(random, shape.micro_batches * run.cluster.data_parallel);
  return run;
}

StepPrediction Predict(const RandomRun& run) {
  const auto count = static_cast<uint32_t>(run.step.size());
  const absl::Status status = ValidateStepShape(run.cluster, count, run.group);
  EXPECT_TRUE(status.ok()) << status;
  return PredictStep(Costs(run.cluster), run.step, run.group);
}

// A light and a heavy micro-batch on two stages and two CP ranks; the loss takes 2 and
// 4. When the second stage is done with them, and what the first has left to do: as it
// is, 106 + 36; with the mean rank's attention, 100 + 32; with mean exchanges of 2 and
// 4, 101 + 30; of two mean micro-batches, 13 and 26, 103 + 26.
std::vector<MicroBatchCost> LightAndHeavy() {
  MicroBatchCost light;
  light.tokens = 40;
  light.forward = Cost(4, 4, 5, 1, 2);
  light.backward = Cost(8, 8, 10, 2, 4);
  light.rank_attention_ns = {12, 12};
  MicroBatchCost heavy;
  heavy.tokens = 60;
  heavy.forward = Cost(10, 8, 5, 3, 2);
  heavy.backward = Cost(20, 16, 10, 6, 4);
  heavy.rank_attention_ns = {30, 18};
  return {light, heavy};
}

ClusterCosts TwoStages() { return Costs(Cluster(2, 1, 1, 2)); }

TEST(PredictStep, SplitsAStepByWhatEvennessWouldSave) {
  const ClusterCosts costs = TwoStages();
  // The two ranks of CP have the same ones.
  const int64_t weights = costs.StepExchangeNs(6 + 5 + 2, 12 + 10 + 4);
  const StepPrediction step = PredictStep(costs, LightAndHeavy(), 1);
  EXPECT_EQ(step.step_ns, 142 + weights);
  EXPECT_EQ(step.cp_sharding_ns, 142 - 132);
  EXPECT_EQ(step.communication_ns, 132 - 131);
  EXPECT_EQ(step.packing_ns, 131 - 129);
  // Three passes of 13 + 26 and half of the loss's 6.
  EXPECT_EQ(step.bound_ns, 3 * (13 + 26 + 3) + weights);
  EXPECT_EQ(step.pipeline_ns, 129 - 126);
  EXPECT_EQ(SumOfParts(step), step.step_ns);
}

TEST(PredictStep, DescribesAStepsImbalance) {
  const ClusterCosts costs = TwoStages();
  const int64_t weights = costs.StepExchangeNs(6 + 5 + 2, 12 + 10 + 4);
  const StepPrediction step = PredictStep(costs, LightAndHeavy(), 1);
  EXPECT_EQ(step.exposed_communication_ns, 1 + 2 + 3 + 6 + weights);
  // Both ranks' passes, and half of twice the loss.
  const double busy_ns = static_cast<double>(10 + 20 + 18 + 36 + 6 + weights);
  EXPECT_NEAR(step.bubble, 1 - busy_ns / static_cast<double>(step.step_ns), 1e-12);
  EXPECT_DOUBLE_EQ(step.pp_imbalance, 18.0 / 14);
  EXPECT_DOUBLE_EQ(step.cp_imbalance, 14.0 / 12);
  // Attention 42 and 30, all else 15 and 15.
  EXPECT_DOUBLE_EQ(step.gpu_imbalance, 72.0 / 66);
  EXPECT_DOUBLE_EQ(step.gpu_attention_imbalance, 42.0 / 36);
  EXPECT_EQ(step.longest_micro_batch, 60U);
  EXPECT_EQ(step.in_flight_tokens, 100U);
}

TEST(PredictStep, OfEqualMicroBatchesIsItsBound) {
  MicroBatchCost cost;
  cost.forward = Cost(10'000, 10'000, 5'000, 1'000);
  cost.backward = Cost(20'000, 20'000, 10'000, 2'000);
  for (const auto& [ranks, chunks, count, group] : {std::array{1U, 1U, 4U, 1U},
                                                    {4U, 1U, 8U, 1U},
                                                    {4U, 2U, 8U, 4U},
                                                    {2U, 4U, 6U, 2U}}) {
    const std::vector<MicroBatchCost> step(count, cost);
    const StepPrediction predicted =
        PredictStep(Costs(Cluster(ranks, chunks)), step, group);
    EXPECT_EQ(predicted.step_ns, int64_t{count * chunks + ranks - 1} * 48'000);
    EXPECT_EQ(predicted.bound_ns, predicted.step_ns);
    EXPECT_EQ(predicted.packing_ns, 0);
    EXPECT_EQ(predicted.cp_sharding_ns, 0);
    EXPECT_EQ(predicted.communication_ns, 0);
    EXPECT_EQ(predicted.pipeline_ns, 0);
    EXPECT_EQ(predicted.exposed_communication_ns, 3'000 * int64_t{count * chunks});
    EXPECT_NEAR(predicted.bubble, (ranks - 1.0) / (count * chunks + ranks - 1), 1e-12);
    EXPECT_EQ(predicted.pp_imbalance, 1);
  }
}

TEST(PredictStep, CountsTheLossAndSendsAsThePipelines) {
  MicroBatchCost cost;
  cost.forward = Cost(10'000, 10'000, 5'000, 0, 4'000);
  cost.backward = Cost(20'000, 20'000, 10'000, 0, 8'000);
  cost.send_ns = 700;
  const StepPrediction step = PredictStep(Costs(Cluster(2)), std::vector{cost}, 1);
  EXPECT_EQ(step.step_ns, 2 * 45'000 + 12'000 + 2 * 700);
  EXPECT_EQ(step.bound_ns, 2 * (45'000 + 6'000));
  EXPECT_EQ(step.pipeline_ns, 2 * 700);
}

TEST(PredictStep, AddsUpItsParts) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 500; ++round) {
    RandomRun run = DrawRun(random, 4);
    if (round % 2 == 1) run.cluster.sync_domain = SyncDomain::kMicroBatch;
    const StepPrediction step = Predict(run);
    ASSERT_EQ(SumOfParts(step), step.step_ns);
    ASSERT_GE(step.bubble, 0);
    ASSERT_LE(step.bubble, 1);
    ASSERT_GE(step.cp_sharding_ns, 0);
    ASSERT_LE(step.exposed_communication_ns, step.step_ns);
    ASSERT_GE(step.pp_imbalance, 1);
    ASSERT_GE(step.cp_imbalance, 1);
  }
}

// A rank passes through all micro-batches, before them PP - 1 forward passes of the
// first, after them PP - 1 backward passes of the last.
TEST(PredictStep, IsNotBelowItsBoundWhereTheEndsAreNotLight) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 500; ++round) {
    RandomRun run = DrawRun(random, 1);
    MicroBatchCost& first = run.step.front();
    MicroBatchCost& last = run.step.back();
    for (MicroBatchCost* end : {&first, &last}) {
      for (PassCost* pass : {&end->forward, &end->backward}) {
        *pass = Cost(90'000'000, 90'000'000, 30'000'000, 5'000'000, 20'000'000);
      }
    }
    const StepPrediction step = Predict(run);
    // What dividing by the number of micro-batches rounds up to.
    ASSERT_LE(step.bound_ns, step.step_ns + 1);
  }
}

TEST(PredictStep, MayBeBelowItsBoundByItsEndsAlone) {
  // Two stages. The second has both micro-batches, 78, after the heavy one's forward
  // pass and before the light one's backward pass on the first; the bound has mean
  // passes there, 13 and 26.
  MicroBatchCost light;
  light.forward.linear_ns = 11;
  light.backward.linear_ns = 22;
  MicroBatchCost heavy;
  heavy.forward.linear_ns = 15;
  heavy.backward.linear_ns = 30;
  const StepPrediction predicted =
      PredictStep(Costs(Cluster(2)), std::vector{heavy, light}, 1);
  EXPECT_EQ(predicted.step_ns, 15 + 78 + 22);
  EXPECT_EQ(predicted.bound_ns, 13 + 78 + 26);
  EXPECT_EQ(predicted.packing_ns, -2);

  std::mt19937_64 random(11);
  for (int round = 0; round < 500; ++round) {
    const RandomRun run = DrawRun(random, 4);
    const StepPrediction any = Predict(run);
    const auto passes = static_cast<int64_t>(run.step.size()) /
                            run.cluster.data_parallel * run.cluster.virtual_stages +
                        run.cluster.pipeline_parallel - 1;
    const int64_t pass_ns = any.bound_ns / passes + 1;
    ASSERT_LE(any.bound_ns,
              any.step_ns + (run.cluster.pipeline_parallel - 1) * pass_ns);
  }
}

TEST(PredictStep, TakesAsLongAsTheSlowestDataParallelRank) {
  MicroBatchCost light;
  light.tokens = 5;
  light.forward.linear_ns = 1'000'000;
  light.backward.linear_ns = 2'000'000;
  light.rank_attention_ns = {0};
  MicroBatchCost heavy;
  heavy.tokens = 9;
  heavy.forward.linear_ns = 4'000'000;
  heavy.backward.linear_ns = 8'000'000;
  heavy.rank_attention_ns = {0};
  const ClusterCosts costs = Costs(Cluster(1, 1, 2));
  const StepPrediction step =
      PredictStep(costs, std::vector{light, light, heavy, light}, 1);
  const int64_t weights = costs.StepExchangeNs(1'750'000, 3'500'000);
  EXPECT_GT(weights, 0);
  EXPECT_EQ(step.step_ns, 15'000'000 + weights);
  EXPECT_EQ(step.bound_ns, 2 * 5'250'000 + weights);
  EXPECT_EQ(step.packing_ns, 4'500'000);
  EXPECT_DOUBLE_EQ(step.gpu_imbalance, 15 / 10.5);
  EXPECT_EQ(step.exposed_communication_ns, weights);
}

TEST(PredictStep, MeetsAtEveryPassWhereRanksMeetThere) {
  // Where each rank has a heavy one, at different places: each pass takes the heavy
  // one's time.
  MicroBatchCost light;
  light.forward.linear_ns = 10'000'000;
  light.backward.linear_ns = 20'000'000;
  MicroBatchCost heavy;
  heavy.forward.linear_ns = 40'000'000;
  heavy.backward.linear_ns = 80'000'000;
  ClusterSpec cluster = Cluster(1, 1, 2);
  const std::vector<MicroBatchCost> step = {light, heavy, heavy, light};
  const ClusterCosts at_steps = Costs(cluster);
  EXPECT_EQ(PredictStep(at_steps, step, 1).step_ns,
            150'000'000 + at_steps.StepExchangeNs(25'000'000, 50'000'000));
  cluster.sync_domain = SyncDomain::kMicroBatch;
  EXPECT_EQ(PredictStep(Costs(cluster), step, 1).step_ns, 240'000'000);
}

TEST(PredictStep, CountsWeightsThatNoPassHides) {
  ClusterSpec cluster = Cluster(1, 1, 2);
  cluster.sync_domain = SyncDomain::kMicroBatch;
  cluster.network = {.gpus_per_node = 1, .inter_node_bytes_per_second = 1e9};
  const ClusterCosts costs = Costs(cluster);
  MicroBatchCost cost;
  cost.forward.linear_ns = 1'000;
  cost.backward.linear_ns = 2'000;
  const int64_t forward = costs.PassExchangeNs(Pass::kForward, 1'000);
  const int64_t backward = costs.PassExchangeNs(Pass::kBackward, 2'000);
  ASSERT_GT(forward, 1'000'000);
  const StepPrediction step = PredictStep(costs, std::vector(6, cost), 1);
  EXPECT_EQ(step.step_ns, 3 * (3'000 + forward + backward));
  EXPECT_EQ(step.bound_ns, step.step_ns);
  EXPECT_EQ(step.exposed_communication_ns, 3 * (forward + backward));
  EXPECT_EQ(step.bubble, 0);
}

TEST(PassTimeOf, IsWhatPredictStepTakesOfAMicroBatch) {
  std::mt19937_64 random(19);
  for (int round = 0; round < 300; ++round) {
    RandomRun run = DrawRun(random, 4);
    run.cluster.sync_domain = SyncDomain::kMicroBatch;
    run.cluster.network = {.gpus_per_node = 1, .inter_node_bytes_per_second = 1e8};
    const ClusterCosts costs = Costs(run.cluster);
    const size_t micro_batches = run.step.size() / run.cluster.data_parallel;
    std::vector<PassTime> slowest;
    for (size_t i = 0; i < micro_batches; ++i) {
      std::vector<PassTime> meeting;
      for (size_t at = i; at < run.step.size(); at += micro_batches) {
        meeting.push_back(PassTimeOf(costs, run.step[at]));
      }
      slowest.push_back(SlowestOf(meeting));
    }
    const PipelineShape shape = {run.cluster.pipeline_parallel,
                                 run.cluster.virtual_stages,
                                 static_cast<uint32_t>(micro_batches), run.group};
    ASSERT_EQ(Predict(run).step_ns, PredictPipeline(shape, slowest).total_ns);
  }
}

TEST(PredictStep, IsNeverFasterWhereRanksMeetAtMicroBatches) {
  std::mt19937_64 random(13);
  for (int round = 0; round < 500; ++round) {
    RandomRun run = DrawRun(random, 4);
    const ClusterCosts costs = Costs(run.cluster);
    const int64_t at_step = PredictStep(costs, run.step, run.group).step_ns;
    run.cluster.sync_domain = SyncDomain::kMicroBatch;
    const int64_t at_micro_batches = Predict(run).step_ns;
    // Weights apart, which passes of milliseconds hide all but a layer of.
    const int64_t weights = costs.StepExchangeNs(1 << 30, 1 << 30);
    ASSERT_GE(at_micro_batches, at_step - weights - run.cluster.pipeline_parallel);
  }
}

// The pipelines that the cost of a step stands for.
std::vector<std::vector<PassTime>> Pipelines(const RandomRun& run,
                                             const ClusterCosts& costs) {
  const bool meet = run.cluster.sync_domain == SyncDomain::kMicroBatch;
  const auto pass_ns = [&](Pass pass, const PassCost& cost) {
    const int64_t own = cost.attention_ns + cost.linear_ns + cost.exchange_ns;
    return own + (meet ? costs.PassExchangeNs(pass, own) : 0);
  };
  const size_t count = run.step.size() / run.cluster.data_parallel;
  std::vector<std::vector<PassTime>> pipelines(run.cluster.data_parallel);
  for (size_t i = 0; i < run.step.size(); ++i) {
    const MicroBatchCost& cost = run.step[i];
    pipelines[i / count].push_back(
        {.forward_ns = pass_ns(Pass::kForward, cost.forward),
         .backward_ns = pass_ns(Pass::kBackward, cost.backward),
         .head_forward_ns = cost.forward.head_ns,
         .head_backward_ns = cost.backward.head_ns,
         .send_ns = cost.send_ns});
  }
  return pipelines;
}

TEST(PredictStep, AgreesWithASimulationOfItsRanks) {
  std::mt19937_64 random(19);
  for (int round = 0; round < 300; ++round) {
    RandomRun run = DrawRun(random, 4);
    const bool meet = round % 2 == 0;
    if (meet) run.cluster.sync_domain = SyncDomain::kMicroBatch;
    const ClusterCosts costs = Costs(run.cluster);
    const size_t count = run.step.size() / run.cluster.data_parallel;
    const PipelineShape shape = {run.cluster.pipeline_parallel,
                                 run.cluster.virtual_stages,
                                 static_cast<uint32_t>(count), run.group};
    const std::optional<int64_t> simulated =
        EventSimulation(shape, Pipelines(run, costs), meet).Run();
    ASSERT_TRUE(simulated.has_value());
    // Passes of milliseconds leave a layer's weights each way, and more only where
    // most of few micro-batches are empty.
    const StepPrediction step = PredictStep(costs, run.step, run.group);
    const int64_t weights = step.step_ns - *simulated;
    if (meet || run.cluster.data_parallel == 1) {
      ASSERT_EQ(weights, 0);
    } else {
      ASSERT_GE(weights, costs.StepExchangeNs(1 << 30, 1 << 30));
      ASSERT_LE(weights, costs.StepExchangeNs(0, 0));
    }
  }
}

TEST(PredictStep, KeepsTokensOfAsManyMicroBatchesAsStages) {
  std::vector<MicroBatchCost> step(8);
  for (size_t i = 0; i < step.size(); ++i) step[i].tokens = i == 3 ? 100 : 1;
  EXPECT_EQ(PredictStep(Costs(Cluster(3)), step, 1).in_flight_tokens, 102U);
  step[4].tokens = 50;
  EXPECT_EQ(PredictStep(Costs(Cluster(2)), step, 1).in_flight_tokens, 150U);
  // Micro-batches 3 and 4 are of different ranks here.
  EXPECT_EQ(PredictStep(Costs(Cluster(2, 1, 2)), step, 1).in_flight_tokens, 101U);
  EXPECT_EQ(PredictStep(Costs(Cluster(16, 1, 4)), step, 1).in_flight_tokens, 101U);
  EXPECT_EQ(PredictStep(Costs(Cluster(1)), step, 1).in_flight_tokens, 100U);
}

TEST(PredictStep, PassesOverEmptyMicroBatches) {
  MicroBatchCost cost;
  cost.tokens = 7;
  cost.forward = Cost(10, 8, 5, 1, 2);
  cost.backward = Cost(20, 16, 10, 2, 4);
  cost.rank_attention_ns = {18, 30};
  ClusterSpec cluster = Cluster(2, 1, 1, 2);
  const ClusterCosts costs = Costs(cluster);
  const StepPrediction step =
      PredictStep(costs, std::vector<MicroBatchCost>{{}, cost, {}}, 1);
  const int64_t weights = costs.StepExchangeNs(8 / 3 + 5 / 3, 16 / 3 + 10 / 3);
  EXPECT_EQ(step.step_ns, 2 * (16 + 32) + 6 + weights);
  EXPECT_DOUBLE_EQ(step.pp_imbalance, 3);
  EXPECT_DOUBLE_EQ(step.gpu_imbalance, 45 / 39.0);
  EXPECT_EQ(step.in_flight_tokens, 7U);

  const StepPrediction nothing =
      PredictStep(Costs(Cluster(2)), std::vector<MicroBatchCost>(4), 1);
  EXPECT_EQ(nothing.step_ns, 0);
  EXPECT_EQ(nothing.bound_ns, 0);
  EXPECT_EQ(nothing.bubble, 0);
  EXPECT_EQ(nothing.pp_imbalance, 1);
  EXPECT_EQ(nothing.cp_imbalance, 1);
  EXPECT_EQ(nothing.gpu_imbalance, 1);
  EXPECT_EQ(nothing.gpu_attention_imbalance, 1);
}

TEST(PredictStep, HoldsTheMostMicroBatchesOfLongestPasses) {
  constexpr int64_t kLongest = int64_t{1} << 38;
  MicroBatchCost cost;
  cost.forward = Cost(kLongest, kLongest, kLongest, kLongest, kLongest);
  cost.backward = cost.forward;
  const std::vector<MicroBatchCost> step(65'536, cost);
  ASSERT_TRUE(ValidateStepShape(Cluster(1, 2), 65'536, 65'536).ok());
  const StepPrediction predicted = PredictStep(Costs(Cluster(1, 2)), step, 65'536);
  EXPECT_EQ(predicted.step_ns, 65'536 * (2 * 6 + 2) * kLongest);
  EXPECT_EQ(SumOfParts(predicted), predicted.step_ns);
  EXPECT_EQ(predicted.exposed_communication_ns, 65'536 * 2 * 2 * kLongest);
  EXPECT_NEAR(predicted.bubble, 0, 1e-12);
}

TEST(ValidateStepShape, RefusesEachBadField) {
  EXPECT_TRUE(ValidateStepShape(Cluster(4, 2, 3), 24, 4).ok());
  EXPECT_TRUE(ValidateStepShape(Cluster(4, 2, 3), 6, 2).ok());
  EXPECT_THAT(ValidateStepShape(Cluster(4), 0, 1),
              RefusesField("micro_batches", "0", "1 to 65536"));
  EXPECT_THAT(ValidateStepShape(Cluster(4), 65'537, 1),
              RefusesField("micro_batches", "65537", "1 to 65536"));
  EXPECT_THAT(ValidateStepShape(Cluster(4, 1, 3), 8, 1),
              RefusesField("micro_batches", "8", "a multiple of data_parallel = 3"));
  EXPECT_THAT(ValidateStepShape(Cluster(4, 1, 3), 24, 3),
              RefusesField("virtual_pipeline_group", "3", "a divisor of the 8"));
  EXPECT_THAT(ValidateStepShape(Cluster(4, 2, 3), 24, 2),
              RefusesField("virtual_pipeline_group", "2", "at least 4"));
  EXPECT_THAT(ValidateStepShape(Cluster(64, 1, 1), 65'536, 1),
              RefusesField("micro_batches", "65536", "1 to 8192"));
}

}  // namespace
}  // namespace evenpack
