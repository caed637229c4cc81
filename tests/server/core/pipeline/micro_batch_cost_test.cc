#include "server/core/pipeline/micro_batch_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "server/core/cost/hardware_spec.h"
#include "server/core/cost/named_models.h"
#include "server/core/pipeline/layer_cost.h"
#include "server/core/sharding/plan_sharding.h"
#include "tests/server/core/cost/refused_field.h"

namespace evenpack {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kMostNs = int64_t{1} << 38;
// What a backward pass takes of a measured forward pass.
constexpr double kBackward = 2.5 / 0.84;

ModelSpec FlatModel() {
  ModelSpec model;
  model.layers = 4;
  model.hidden = 256;
  model.query_heads = 4;
  model.kv_heads = 4;
  model.head_size = 64;
  model.ffn_size = 512;
  model.vocabulary = 1000;
  return model;
}

// A slice takes a microsecond for each 128 queries and 128 keys up to its end.
KernelLatencyTable Tiles(int64_t launch_ns = 0) {
  return *KernelLatencyTable::FromGrid(
      {128, 256}, {128, 256}, {1'000'000, 2'000'000, 1'000'000, 2'000'000}, launch_ns);
}

ClusterCosts Costs(const ModelSpec& model, const ClusterSpec& cluster,
                   const KernelLatencyTable& table = Tiles()) {
  absl::StatusOr<ClusterCosts> costs = ClusterCosts::Create(model, cluster, table);
  EXPECT_TRUE(costs.ok()) << costs.status();
  return *std::move(costs);
}

ShardPlan Plan(const std::vector<uint32_t>& lengths, uint32_t context_parallel = 1,
               Sharding sharding = Sharding::kPerSequence, uint32_t pad_to = 0) {
  absl::StatusOr<ShardPlan> plan =
      PlanSharding(sharding, lengths, context_parallel, pad_to, {});
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *std::move(plan);
}

TEST(CostOf, SumsTheSlicesOfOneRankOverTheLayers) {
  // Two slots of 384 tokens: 3 x 3 tiles, then 1 x 4 and 2 x 2; in four layers.
  const MicroBatchCost cost = Costs(FlatModel(), {}).CostOf(Plan({512, 256}));
  EXPECT_EQ(cost.tokens, 768U);
  EXPECT_EQ(cost.forward.attention_ns, 4 * 17'000);
  EXPECT_EQ(cost.forward.mean_attention_ns, 4 * 17'000);
  EXPECT_NEAR(static_cast<double>(cost.backward.attention_ns), 68'000 * kBackward, 1);
  EXPECT_THAT(cost.rank_attention_ns, ElementsAre(68'000 + cost.backward.attention_ns));
}

TEST(CostOf, WaitsForTheSlowestContextRank) {
  ClusterSpec cluster;
  cluster.context_parallel = 2;
  const ClusterCosts costs = Costs(FlatModel(), cluster);
  // Slots of 128 tokens that end at 128, 256 and 384 of the first document, and 128 of
  // the second: 1 + 1 tiles on the first rank, 2 + 3 on the other.
  const MicroBatchCost uneven = costs.CostOf(Plan({384, 128}, 2));
  EXPECT_EQ(uneven.forward.attention_ns, 4 * 5'000);
  EXPECT_EQ(uneven.forward.mean_attention_ns, 4 * 3'500);
  EXPECT_NEAR(static_cast<double>(uneven.rank_attention_ns[0]), 8'000 * (1 + kBackward),
              1);
  EXPECT_NEAR(static_cast<double>(uneven.rank_attention_ns[1]),
              20'000 * (1 + kBackward), 1);
  // Each document over both ranks: 1 and 4 tiles of one of 512, 2 and 3.
  const MicroBatchCost even = costs.CostOf(Plan({512, 512}, 2, Sharding::kPerDocument));
  EXPECT_EQ(even.forward.attention_ns, 4 * 10'000);
  EXPECT_EQ(even.forward.mean_attention_ns, 4 * 10'000);
}

TEST(CostOf, CountsALaunchPerLayerAndRank) {
  ClusterSpec cluster;
  cluster.context_parallel = 2;
  const MicroBatchCost cost =
      Costs(FlatModel(), cluster, Tiles(1500)).CostOf(Plan({384, 128}, 2));
  EXPECT_EQ(cost.forward.attention_ns, 4 * (5'000 + 1'500));
  EXPECT_EQ(cost.forward.mean_attention_ns, 4 * (3'500 + 1'500));
}

TEST(CostOf, HasTheLayersOfOneChunk) {
  ClusterSpec cluster;
  for (const auto& [ranks, chunks] :
       {std::pair{1U, 1U}, {2U, 1U}, {2U, 2U}, {1U, 4U}, {3U, 1U}}) {
    cluster.pipeline_parallel = ranks;
    cluster.virtual_stages = chunks;
    const MicroBatchCost cost = Costs(FlatModel(), cluster).CostOf(Plan({512, 256}));
    EXPECT_EQ(cost.forward.attention_ns, std::llround(68'000.0 / ranks / chunks));
    const double layers = 4.0 / ranks / chunks;
    EXPECT_EQ(
        cost.forward.linear_ns,
        std::llround(LayerCostOf(FlatModel(), cluster, Pass::kForward, 768).compute_ns *
                     layers));
    // The loss is not one of them.
    EXPECT_EQ(cost.forward.head_ns,
              std::llround(HeadNs(FlatModel(), cluster, Pass::kForward, 768)));
    EXPECT_EQ(cost.send_ns, std::llround(StageSendNs(FlatModel(), cluster, 768)));
  }
}

TEST(CostOf, CountsPaddingInAllButAttentionAndTokens) {
  ClusterSpec cluster;
  cluster.context_parallel = 2;
  const ClusterCosts costs = Costs(FlatModel(), cluster);
  const ShardPlan plan = Plan({500, 70}, 2, Sharding::kPerDocument, 512);
  ASSERT_EQ(plan.padded_tokens, 1024U);
  const MicroBatchCost cost = costs.CostOf(plan);
  EXPECT_EQ(cost.tokens, 570U);
  for (const auto& [pass, part] :
       {std::pair{Pass::kForward, cost.forward}, {Pass::kBackward, cost.backward}}) {
    const LayerCost layer = LayerCostOf(FlatModel(), cluster, pass, 1024);
    EXPECT_EQ(part.linear_ns, std::llround(4 * layer.compute_ns));
    EXPECT_EQ(part.exchange_ns, std::llround(4 * layer.exchange_ns));
    EXPECT_GT(part.exchange_ns, 0);
    EXPECT_EQ(part.head_ns, std::llround(HeadNs(FlatModel(), cluster, pass, 1024)));
  }
}

// The first document whole on one rank, the second cut evenly.
ShardPlan Mixed(const std::vector<uint32_t>& lengths) {
  ShardPlan plan;
  plan.sharding = Sharding::kHybrid;
  plan.context_parallel = 2;
  plan.document_starts = DocumentStarts(lengths);
  plan.padded_tokens = plan.tokens();
  plan.owner.assign(lengths.size(), kCutDocument);
  plan.owner[0] = 0;
  plan.slot_starts = {0, 1U << 30, 1U << 31, 3U << 30, kWholeShare};
  return plan;
}

TEST(CostOf, HybridGathersTheKeysOfCutDocumentsAlone) {
  ClusterSpec cluster;
  cluster.context_parallel = 2;
  const ClusterCosts costs = Costs(FlatModel(), cluster);
  const MicroBatchCost cost = costs.CostOf(Mixed({128, 512}));
  for (const auto& [pass, part] :
       {std::pair{Pass::kForward, cost.forward}, {Pass::kBackward, cost.backward}}) {
    const LayerCost layer = LayerCostOf(FlatModel(), cluster, pass, 640, 512);
    EXPECT_EQ(part.exchange_ns, std::llround(4 * layer.exchange_ns));
    EXPECT_EQ(part.linear_ns, std::llround(4 * layer.compute_ns));
    EXPECT_LT(layer.exchange_ns,
              LayerCostOf(FlatModel(), cluster, pass, 640).exchange_ns);
  }
}

TEST(CostOf, TheRankOfMostTokensIsWaitedFor) {
  ClusterSpec cluster;
  cluster.context_parallel = 2;
  const ClusterCosts costs = Costs(FlatModel(), cluster);
  // 128 + 256 tokens on the first rank, 256 on the other; 1 + 1 + 4 and 2 + 3 tiles.
  const MicroBatchCost cost = costs.CostOf(Mixed({128, 512}));
  const double uneven =
      LayerCostOf(FlatModel(), cluster, Pass::kForward, 768).compute_ns -
      LayerCostOf(FlatModel(), cluster, Pass::kForward, 640).compute_ns;
  EXPECT_NEAR(static_cast<double>(cost.forward.attention_ns), 4 * (6'000 + uneven), 1);
  EXPECT_EQ(cost.forward.mean_attention_ns, 4 * 5'500);
}

TEST(Workload, OfHybridHasTheExchangeWithLongDocumentsAlone) {
  ClusterSpec cluster;
  cluster.context_parallel = 4;
  const ClusterCosts costs = Costs(FlatModel(), cluster);
  const WorkloadTable all = *costs.Workload(65'536, 1, 1);
  const WorkloadTable long_ones = *costs.Workload(65'536, 1, 1, 16'384);
  EXPECT_EQ(long_ones.AttentionNs(8'192), all.AttentionNs(8'192));
  EXPECT_LT(long_ones.LinearNs(32'768), all.LinearNs(32'768));
  // Alone in a micro-batch a long document takes the same.
  const auto alone = [](const WorkloadTable& table) {
    return static_cast<double>(table.AttentionNs(32'768) + table.LinearNs(32'768));
  };
  EXPECT_NEAR(alone(long_ones) / alone(all), 1, 1e-3);
}

TEST(Hybrid, CountsBothPassesByForwardAttention) {
  ClusterSpec cluster;
  cluster.context_parallel = 4;
  const ClusterCosts costs = Costs(FlatModel(), cluster);
  const HybridRule rule = costs.Hybrid(7);
  EXPECT_EQ(rule.token_tolerance_ppm, 7U);
  double token_ns = 0;
  double cut_ns = 0;
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    const LayerCost whole = LayerCostOf(FlatModel(), cluster, pass, 65'536, 0);
    token_ns += (whole.compute_ns + whole.exchange_ns) / (65'536 / 4);
    cut_ns += (LayerCostOf(FlatModel(), cluster, pass, 65'536).exchange_ns -
               whole.exchange_ns) /
              65'536;
  }
  const double scale = 1'000 / (1 + kBackward);
  EXPECT_NEAR(static_cast<double>(rule.token_ps), token_ns * scale, 1);
  EXPECT_NEAR(static_cast<double>(rule.cut_token_ps), cut_ns * scale, 1);
  EXPECT_GT(rule.cut_token_ps, 0);
  cluster.context_overlap = 1;
  EXPECT_EQ(Costs(FlatModel(), cluster).Hybrid(7).cut_token_ps, 0);
}

TEST(CostOf, TakesTheShareOfPairsWithinAWindow) {
  ModelSpec model = FlatModel();
  model.window = 128;
  model.window_layers = 3;
  // The first 128 queries see all before them, the others 128 keys of 129 to 256.
  const double share = 128.0 * 128 / (256 * 257 / 2 - 128 * 129 / 2);
  EXPECT_EQ(Costs(model, {}).CostOf(Plan({256})).forward.attention_ns,
            std::llround(1'000 * 4 + 2'000 * (1 + 3 * share)));
  // Of two ranks the second has the queries 64 to 191, as two slices of one tile of
  // queries each: 64 that see all before them, 128 keys, and 64 that see 128 each.
  ClusterSpec cluster;
  cluster.context_parallel = 2;
  const double late = 64 * 128.0 / (192 * 193 / 2 - 128 * 129 / 2);
  const MicroBatchCost cost = Costs(model, cluster).CostOf(Plan({256}, 2));
  const double second = 1'000 * 4 + 2'000 * (1 + 3 * late);
  EXPECT_NEAR(static_cast<double>(cost.rank_attention_ns[1]), second * (1 + kBackward),
              1.5);
}

TEST(CostOf, HasForwardOnTopOfBackwardWhereLayersAreComputedAgain) {
  ClusterSpec cluster;
  cluster.context_parallel = 2;
  const ShardPlan plan = Plan({384, 128}, 2);
  const MicroBatchCost once = Costs(FlatModel(), cluster).CostOf(plan);
  cluster.recompute = true;
  const MicroBatchCost twice = Costs(FlatModel(), cluster).CostOf(plan);
  EXPECT_EQ(twice.forward, once.forward);
  const PassCost& f = once.forward;
  const PassCost& b = once.backward;
  EXPECT_EQ(twice.backward.attention_ns, f.attention_ns + b.attention_ns);
  EXPECT_EQ(twice.backward.mean_attention_ns,
            f.mean_attention_ns + b.mean_attention_ns);
  EXPECT_NEAR(static_cast<double>(twice.backward.linear_ns),
              static_cast<double>(f.linear_ns + b.linear_ns), 1);
  EXPECT_NEAR(static_cast<double>(twice.backward.exchange_ns),
              static_cast<double>(f.exchange_ns + b.exchange_ns), 1);
  EXPECT_EQ(twice.backward.head_ns, b.head_ns);
  EXPECT_EQ(twice.rank_attention_ns[1], once.rank_attention_ns[1] + f.attention_ns);
}

TEST(CostOf, WhatIsComputedAgainOfHybridWaitsForTheFullestRankOnce) {
  ClusterSpec cluster;
  cluster.context_parallel = 2;
  const ShardPlan plan = Mixed({128, 512});
  const MicroBatchCost once = Costs(FlatModel(), cluster).CostOf(plan);
  cluster.recompute = true;
  const MicroBatchCost twice = Costs(FlatModel(), cluster).CostOf(plan);
  EXPECT_EQ(twice.forward, once.forward);
  const PassCost& f = once.forward;
  const PassCost& b = once.backward;
  EXPECT_GT(f.attention_ns, 4 * 6'000 + 10);
  EXPECT_NEAR(static_cast<double>(twice.backward.attention_ns),
              static_cast<double>(f.attention_ns + b.attention_ns), 1);
  EXPECT_EQ(twice.backward.mean_attention_ns,
            f.mean_attention_ns + b.mean_attention_ns);
}

TEST(CostOf, OfNoTokensIsNothing) {
  ClusterSpec cluster;
  cluster.context_parallel = 2;
  EXPECT_EQ(Costs(FlatModel(), cluster, Tiles(1500)).CostOf(Plan({}, 2)),
            MicroBatchCost{});
}

TEST(CostOf, HoldsWhatTakesForEver) {
  constexpr int64_t kBlock = KernelLatencyTable::kMaxBlockPs;
  const auto table = KernelLatencyTable::FromGrid({128, 256}, {128, 256},
                                                  {kBlock, kBlock, kBlock, kBlock}, 0);
  ASSERT_TRUE(table.ok());
  ClusterSpec cluster;
  cluster.context_parallel = 2;
  cluster.recompute = true;
  cluster.peak_flops = 1e9;
  cluster.matmul_fraction = std::numeric_limits<double>::min();
  cluster.network = {.gpus_per_node = 1, .inter_node_bytes_per_second = 1};
  const MicroBatchCost cost =
      Costs(FlatModel(), cluster, *table).CostOf(Plan({2'000'000, 1'000'000}, 2));
  const PassCost longest = {kMostNs, kMostNs, kMostNs, kMostNs, kMostNs};
  EXPECT_EQ(cost.forward, longest);
  EXPECT_EQ(cost.backward, longest);
  EXPECT_THAT(cost.rank_attention_ns, ElementsAre(3 * kMostNs, 3 * kMostNs));
}

TEST(ClusterCosts, TakesTheTileModelWhereNothingWasMeasured) {
  ClusterSpec cluster;
  cluster.tensor_parallel = 2;
  const ClusterCosts costs = Costs(FlatModel(), cluster, {});
  const HardwareSpec hopper = *NamedHardware("H100");
  const auto forward = KernelLatencyTable::FromTileModel(FlatModel(), hopper, 2);
  const auto backward =
      KernelLatencyTable::FromTileModel(FlatModel(), hopper, 2, Pass::kBackward);
  EXPECT_EQ(costs.forward_attention(), *forward);
  const MicroBatchCost cost = costs.CostOf(Plan({4096}));
  EXPECT_EQ(
      cost.forward.attention_ns,
      std::llround(4 *
                   (1'400 + static_cast<double>(forward->SlicePs(4096, 4096)) / 1000)));
  EXPECT_EQ(
      cost.backward.attention_ns,
      std::llround(
          4 * (32'000 + static_cast<double>(backward->SlicePs(4096, 4096)) / 1000)));
}

TEST(ClusterCosts, RefusesAClusterThatIsNotValid) {
  ClusterSpec cluster;
  cluster.tensor_parallel = 5;
  EXPECT_THAT(ClusterCosts::Create(FlatModel(), cluster, {}),
              RefusesField("tensor_parallel", "5", "at most the model's 4"));
  EXPECT_THAT(ClusterCosts::Create(ModelSpec{}, {}, Tiles()),
              RefusesField("model.layers", "0", "1 to"));
}

// 4 of 32 heads a rank; TP fills the nodes, so that CP goes through one port each.
TEST(ClusterCosts, OfSevenBOnSixteenGpusOfTwoNodes) {
  ClusterSpec cluster;
  cluster.tensor_parallel = 8;
  cluster.context_parallel = 2;
  cluster.pipeline_parallel = 4;
  const ClusterCosts costs = Costs(*NamedModel("7B"), cluster, {});
  const MicroBatchCost cost = costs.CostOf(Plan({131'072}, 2));
  // A layer: 65,536 tokens x 2 operations x 202.4 million weights over 8 GPUs of
  // 791 TFLOPS, 4.19 ms; 512 MiB gathered and scattered twice over NVLink, 5.43 ms.
  const double products = 65'536 * 2.0 * 202'375'168 / 8 / 791'200;
  const double tensor = 2 * (1'314'800 + 1'401'100);
  // K and V of 4 heads of 128: 256 MiB, half of it at 45 GB/s, 2.98 ms.
  const double context = 131'072 * 2.0 * 2 * 4 * 128 / 2 / 45;
  EXPECT_NEAR(static_cast<double>(cost.forward.exchange_ns),
              8 * (tensor - products + context), 10);
  // 4 operations for each pair of tokens, half of 131,072 x 131,072, of each element of
  // 4 heads of 128 in 8 layers; on two ranks, at 573 TFLOPS.
  const double flops = 4.0 * 131'072 * 65'536 * 4 * 128 * 8 / 2;
  EXPECT_NEAR(static_cast<double>(cost.forward.attention_ns), flops / 573'000,
              0.03 * flops / 573'000);
  EXPECT_NEAR(static_cast<double>(cost.forward.attention_ns),
              static_cast<double>(cost.forward.mean_attention_ns),
              0.01 * flops / 573'000);
}

TEST(Workload, IsTheForwardPassOfAllLayers) {
  ClusterSpec cluster;
  cluster.context_parallel = 2;
  cluster.pipeline_parallel = 2;
  cluster.virtual_stages = 2;
  const auto table = Costs(FlatModel(), cluster).Workload(4096, 8, 1);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->AttentionNs(0), 0);
  EXPECT_EQ(table->AttentionNs(512), 4 * 16'000 / 2);
  EXPECT_EQ(table->AttentionNs(513), 4 * 25'000 / 2);
  EXPECT_EQ(table->LinearNs(0), 0);
  const LayerCost layer = LayerCostOf(FlatModel(), cluster, Pass::kForward, 777);
  EXPECT_EQ(table->LinearNs(777),
            std::llround(4 * (layer.compute_ns + layer.exchange_ns) +
                         HeadNs(FlatModel(), cluster, Pass::kForward, 777)));
}

TEST(Workload, ScalesAttentionAlone) {
  const ClusterCosts costs = Costs(FlatModel(), {});
  const auto right = costs.Workload(4096, 8, 1);
  const auto wrong = costs.Workload(4096, 8, 0.5);
  ASSERT_TRUE(right.ok() && wrong.ok());
  EXPECT_EQ(2 * wrong->AttentionNs(1024), right->AttentionNs(1024));
  EXPECT_EQ(wrong->linear(), right->linear());
}

TEST(Workload, NeverFalls) {
  // A dip at 512 queries, as a noisy measurement might have it.
  const auto noisy = KernelLatencyTable::FromMeasurements(
      {128, 256, 512}, {128, 256, 512},
      {10'000, 20'000, 30'000, 0, 90'000, 95'000, 0, 0, 40'000}, 0);
  ASSERT_TRUE(noisy.ok());
  for (const uint32_t tensor : {1U, 2U, 4U}) {
    for (const uint32_t context : {1U, 3U, 16U}) {
      ClusterSpec cluster;
      cluster.tensor_parallel = tensor;
      cluster.context_parallel = context;
      for (const KernelLatencyTable& attention : {*noisy, Tiles(), {}}) {
        const auto table =
            Costs(FlatModel(), cluster, attention).Workload(200'000, 8, 1);
        ASSERT_TRUE(table.ok()) << table.status();
        for (uint32_t tokens = 1; tokens <= 200'000; tokens += 13) {
          ASSERT_GE(table->AttentionNs(tokens), table->AttentionNs(tokens - 1));
          ASSERT_GE(table->LinearNs(tokens), table->LinearNs(tokens - 1));
        }
      }
    }
  }
}

TEST(Workload, RefusesAScaleOrSizeOutOfRange) {
  const ClusterCosts costs = Costs(FlatModel(), {});
  EXPECT_THAT(costs.Workload(4096, 8, 0),
              RefusesField("attention_scale", "0", "above 0"));
  EXPECT_THAT(costs.Workload(4096, 8, -1),
              RefusesField("attention_scale", "-1", "above 0"));
  EXPECT_THAT(costs.Workload(4096, 8, std::numeric_limits<double>::quiet_NaN()),
              RefusesField("attention_scale", "nan", "above 0"));
  EXPECT_THAT(costs.Workload(4096, 8, std::numeric_limits<double>::infinity()),
              RefusesField("max_tokens", "4096", "within 2^62 ns"));
  EXPECT_THAT(costs.Workload(0, 8, 1), RefusesField("max_tokens", "0", "1 to"));
  EXPECT_THAT(costs.Workload(8, 0, 1),
              RefusesField("micro_batches", "0", "at least 1"));
}

TEST(CrossoverTokens, IsWhereAttentionOvertakesTheRest) {
  for (const double peak : {5e9, 2e10, 1e12}) {
    ClusterSpec cluster;
    cluster.peak_flops = peak;
    const ClusterCosts costs = Costs(FlatModel(), cluster);
    const double crossover = costs.CrossoverTokens();
    const auto table = costs.Workload(4096, 1, 1);
    ASSERT_TRUE(table.ok()) << table.status();
    const auto tokens = static_cast<uint32_t>(crossover);
    if (tokens < 4096) {
      EXPECT_LE(table->AttentionNs(tokens), table->LinearNs(tokens)) << tokens;
      EXPECT_GE(table->AttentionNs(tokens + 1), table->LinearNs(tokens + 1)) << tokens;
    } else {
      EXPECT_LT(table->AttentionNs(4096), table->LinearNs(4096));
    }
  }
}

TEST(CrossoverTokens, StaysWithinItsRange) {
  ClusterSpec cluster;
  cluster.peak_flops = 1e18;
  cluster.memory_bytes_per_second = 1e15;
  EXPECT_EQ(Costs(FlatModel(), cluster).CrossoverTokens(), 1);
  cluster.matmul_fraction = std::numeric_limits<double>::min();
  EXPECT_EQ(Costs(FlatModel(), cluster).CrossoverTokens(), 2'147'483'647);
}

// Of 4 layers; F and B are what one layer's weights take, gathered and scattered.
TEST(StepExchangeNs, LeavesOneLayerAtLeast) {
  ClusterSpec cluster;
  cluster.data_parallel = 4;
  cluster.pipeline_parallel = 2;
  cluster.network = {.gpus_per_node = 1, .inter_node_bytes_per_second = 1e9};
  const ClusterCosts costs = Costs(FlatModel(), cluster);
  const double f = LayerWeightsNs(FlatModel(), cluster, Pass::kForward);
  const double b = LayerWeightsNs(FlatModel(), cluster, Pass::kBackward);
  ASSERT_GT(f, 1e5);
  EXPECT_EQ(costs.StepExchangeNs(0, 0), std::llround(2 * f) + std::llround(2 * b));
  EXPECT_EQ(costs.StepExchangeNs(100'000, 0),
            std::llround(2 * f - 1e5) + std::llround(2 * b));
  EXPECT_EQ(costs.StepExchangeNs(1 << 30, 1 << 30), std::llround(f) + std::llround(b));
}

TEST(StepExchangeNs, IsNothingForOneRank) {
  EXPECT_EQ(Costs(FlatModel(), {}).StepExchangeNs(0, 0), 0);
}

TEST(PassExchangeNs, IsWhatAPassDoesNotHide) {
  ClusterSpec cluster;
  cluster.data_parallel = 4;
  cluster.pipeline_parallel = 2;
  cluster.network = {.gpus_per_node = 1, .inter_node_bytes_per_second = 1e9};
  const ClusterCosts costs = Costs(FlatModel(), cluster);
  const double f = LayerWeightsNs(FlatModel(), cluster, Pass::kForward);
  const double b = LayerWeightsNs(FlatModel(), cluster, Pass::kBackward);
  EXPECT_EQ(costs.PassExchangeNs(Pass::kForward, 0), std::llround(2 * f));
  EXPECT_EQ(costs.PassExchangeNs(Pass::kForward, 100'000), std::llround(2 * f - 1e5));
  EXPECT_EQ(costs.PassExchangeNs(Pass::kBackward, 0), std::llround(2 * f + 2 * b));
  EXPECT_EQ(costs.PassExchangeNs(Pass::kForward, 1 << 30), 0);
}

}  // namespace
}  // namespace evenpack
