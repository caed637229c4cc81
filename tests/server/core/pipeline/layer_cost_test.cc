#include "server/core/pipeline/layer_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace evenpack {
namespace {

constexpr double kMebibyte = 1024.0 * 1024;

// Of one layer: projections (2 * 8 + 2 * 4) * 64 * 1,024 = 1,572,864 weights, the gated
// network 3 * 1,024 * 2,048 = 6,291,456, normalisations 2 * 1,024.
constexpr double kProjections = 1'572'864;
constexpr double kNetwork = 6'291'456;

ModelSpec SmallModel() {
  ModelSpec model;
  model.layers = 2;
  model.hidden = 1024;
  model.query_heads = 8;
  model.kv_heads = 4;
  model.head_size = 64;
  model.ffn_size = 2048;
  model.vocabulary = 1000;
  return model;
}

ModelSpec SmallMixture() {
  ModelSpec model = SmallModel();
  model.experts = 8;
  model.active_experts = 2;
  return model;
}

// 0.5 FLOP and one byte of memory a nanosecond: what a nanosecond holds is easily
// counted. NVLink is as measured.
ClusterSpec Slow() {
  ClusterSpec cluster;
  cluster.peak_flops = 1e9;
  cluster.matmul_fraction = 0.5;
  cluster.memory_bytes_per_second = 1e9;
  cluster.overlap_tensor_collectives = false;
  return cluster;
}

// Two operations a weight; and elements of 2 bytes: normalisations 4 * 1,024, residual
// sums 6 * 1,024, rotary embedding 2 * 12 * 64, the gate 3 * 2,048.
constexpr double kMatmulNs = 2 * (kProjections + kNetwork) / 0.5;
constexpr double kElementwiseNs = 2 * (4096 + 6144 + 1536 + 6144);

TEST(LayerCostOf, ComputesInProportionToTokens) {
  const LayerCost forward = LayerCostOf(SmallModel(), Slow(), Pass::kForward, 10);
  EXPECT_DOUBLE_EQ(forward.compute_ns, 10 * (kMatmulNs + kElementwiseNs));
  EXPECT_EQ(forward.exchange_ns, 0);
  const LayerCost backward = LayerCostOf(SmallModel(), Slow(), Pass::kBackward, 10);
  EXPECT_DOUBLE_EQ(backward.compute_ns, 20 * (kMatmulNs + kElementwiseNs));
  EXPECT_EQ(backward.exchange_ns, 0);
  EXPECT_EQ(LayerCostOf(SmallModel(), Slow(), Pass::kForward, 0).compute_ns, 0);
}

TEST(LayerCostOf, SharesTokensAndWidthOutOverRanks) {
  ClusterSpec cluster = Slow();
  cluster.tensor_parallel = 2;
  cluster.context_parallel = 4;
  // 10 tokens on 4 ranks: 3 on the fullest.
  EXPECT_DOUBLE_EQ(LayerCostOf(SmallModel(), cluster, Pass::kForward, 10).compute_ns,
                   3 * (kMatmulNs + kElementwiseNs) / 2);
}

TEST(LayerCostOf, CountsAPlainNetworkAndTheExpertsOfAToken) {
  ModelSpec plain = SmallModel();
  plain.ffn_kind = ModelSpec::kPlain;
  EXPECT_DOUBLE_EQ(
      LayerCostOf(plain, Slow(), Pass::kForward, 1).compute_ns,
      2 * (kProjections + kNetwork * 2 / 3) / 0.5 + 2 * (4096 + 6144 + 1536 + 4096));
  // Two experts, the gate of both, and the router's 1,024 * 8 weights.
  EXPECT_DOUBLE_EQ(LayerCostOf(SmallMixture(), Slow(), Pass::kForward, 1).compute_ns,
                   2 * (kProjections + 2 * kNetwork + 8192) / 0.5 +
                       2 * (4096 + 6144 + 1536 + 2 * 6144));
}

// 4,096 tokens of 2 KiB each: 8 MiB, gathered in 35.54 us by two ranks, scattered in
// 46.97 us.
TEST(LayerCostOf, GathersAndScattersActivationsOverTensorRanks) {
  ClusterSpec cluster = Slow();
  cluster.tensor_parallel = 2;
  EXPECT_NEAR(LayerCostOf(SmallModel(), cluster, Pass::kForward, 4096).exchange_ns,
              2 * 35'540 + 2 * 46'970, 1e-3);
  EXPECT_NEAR(LayerCostOf(SmallModel(), cluster, Pass::kBackward, 4096).exchange_ns,
              4 * 35'540 + 2 * 46'970, 1e-3);
  // CP ranks have half of the tokens each, and K and V to gather besides; these are
  // hidden here.
  cluster.context_parallel = 2;
  cluster.context_overlap = 1;
  EXPECT_NEAR(LayerCostOf(SmallModel(), cluster, Pass::kForward, 8192).exchange_ns,
              2 * 35'540 + 2 * 46'970, 1e-3);
}

TEST(LayerCostOf, HidesTensorCollectivesBehindMatrixProducts) {
  ClusterSpec cluster = Slow();
  cluster.tensor_parallel = 2;
  cluster.overlap_tensor_collectives = true;
  EXPECT_EQ(LayerCostOf(SmallModel(), cluster, Pass::kForward, 4096).exchange_ns, 0);
  // 4,096 tokens at 10^15 FLOP/s on two ranks: 32,212 ns of products.
  cluster.peak_flops = 1e15;
  cluster.matmul_fraction = 1;
  const double products = 4096 * (kProjections + kNetwork) / 1e6;
  EXPECT_NEAR(LayerCostOf(SmallModel(), cluster, Pass::kForward, 4096).exchange_ns,
              2 * 35'540 + 2 * 46'970 - products, 1e-3);
  EXPECT_NEAR(LayerCostOf(SmallModel(), cluster, Pass::kBackward, 4096).exchange_ns,
              4 * 35'540 + 2 * 46'970 - 2 * products, 1e-3);
}

// K and V of 4 heads of 64: 1 KiB a token, 8 MiB of 8,192 tokens.
TEST(LayerCostOf, GathersKeysAndValuesOverContextRanks) {
  ClusterSpec cluster = Slow();
  cluster.context_parallel = 2;
  EXPECT_NEAR(LayerCostOf(SmallModel(), cluster, Pass::kForward, 8192).exchange_ns,
              35'540, 1e-3);
  EXPECT_NEAR(LayerCostOf(SmallModel(), cluster, Pass::kBackward, 8192).exchange_ns,
              46'970, 1e-3);
  cluster.context_overlap = 0.75;
  EXPECT_NEAR(LayerCostOf(SmallModel(), cluster, Pass::kForward, 8192).exchange_ns,
              8'885, 1e-3);
}

TEST(LayerCostOf, GathersAtLeastOneHeadPerTensorRank) {
  ClusterSpec cluster = Slow();
  cluster.tensor_parallel = 8;
  cluster.context_parallel = 2;
  cluster.network.inter_node_bytes_per_second = 1e9;
  const double tensor = [&] {
    ClusterSpec hidden = cluster;
    hidden.context_overlap = 1;
    return LayerCostOf(SmallModel(), hidden, Pass::kForward, 8192).exchange_ns;
  }();
  // One head of 64, half of it from the other node at a byte a nanosecond.
  EXPECT_NEAR(
      LayerCostOf(SmallModel(), cluster, Pass::kForward, 8192).exchange_ns - tensor,
      8192 * 2 * 2 * 64 / 2, 1e-3);
}

// 2 experts of 2 KiB each: 8 MiB of 2,048 tokens, there and back.
TEST(LayerCostOf, SendsTokensToExpertsAndBack) {
  ClusterSpec cluster = Slow();
  cluster.data_parallel = 2;
  cluster.expert_parallel = 2;
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    EXPECT_NEAR(LayerCostOf(SmallMixture(), cluster, pass, 2048).exchange_ns,
                2 * 35'540, 1e-3);
  }
  // The ranks of DP are 8 GPUs apart: half of 4 MiB of each rank leaves the node.
  cluster.tensor_parallel = 2;
  cluster.pipeline_parallel = 2;
  cluster.network = {.gpus_per_node = 4, .inter_node_bytes_per_second = 1e9};
  const double tensor = LayerCostOf(
                            SmallModel(),
                            [&] {
                              ClusterSpec dense = cluster;
                              dense.expert_parallel = 1;
                              return dense;
                            }(),
                            Pass::kForward, 2048)
                            .exchange_ns;
  EXPECT_NEAR(
      LayerCostOf(SmallMixture(), cluster, Pass::kForward, 2048).exchange_ns - tensor,
      2 * 2 * kMebibyte, 1e-3);
}

TEST(LayerCostOf, RecomputesTheForwardPassBeforeTheBackwardPass) {
  ClusterSpec cluster = Slow();
  cluster.tensor_parallel = 2;
  cluster.recompute = true;
  ClusterSpec once = cluster;
  once.recompute = false;
  const LayerCost forward = LayerCostOf(SmallModel(), once, Pass::kForward, 4096);
  const LayerCost backward = LayerCostOf(SmallModel(), once, Pass::kBackward, 4096);
  const LayerCost both = LayerCostOf(SmallModel(), cluster, Pass::kBackward, 4096);
  EXPECT_DOUBLE_EQ(both.compute_ns, forward.compute_ns + backward.compute_ns);
  EXPECT_DOUBLE_EQ(both.exchange_ns, forward.exchange_ns + backward.exchange_ns);
  EXPECT_EQ(LayerCostOf(SmallModel(), cluster, Pass::kForward, 4096).compute_ns,
            forward.compute_ns);
}

TEST(HeadNs, IsAProductOverTheVocabulary) {
  ClusterSpec cluster = Slow();
  EXPECT_DOUBLE_EQ(HeadNs(SmallModel(), cluster, Pass::kForward, 10),
                   10 * 2 * 1'024'000 / 0.5);
  EXPECT_DOUBLE_EQ(HeadNs(SmallModel(), cluster, Pass::kBackward, 10),
                   20 * 2 * 1'024'000 / 0.5);
  cluster.tensor_parallel = 2;
  cluster.context_parallel = 4;
  EXPECT_DOUBLE_EQ(HeadNs(SmallModel(), cluster, Pass::kForward, 10),
                   3 * 2 * 1'024'000 / 0.5 / 2);
}

TEST(StageSendNs, SendsEachGpusPartOfTheActivations) {
  ClusterSpec cluster = Slow();
  EXPECT_EQ(StageSendNs(SmallModel(), cluster, 4096), 0);
  cluster.pipeline_parallel = 2;
  // 4,096 tokens of 2 KiB: as a rank of two that gather 16 MiB receives.
  EXPECT_NEAR(StageSendNs(SmallModel(), cluster, 4096), 48'390, 1e-3);
  cluster.tensor_parallel = 4;
  cluster.context_parallel = 2;
  cluster.network.inter_node_bytes_per_second = 1e9;
  // Across nodes of 8; an eighth of it.
  EXPECT_NEAR(StageSendNs(SmallModel(), cluster, 4096), kMebibyte, 1e-3);
}

// A layer's weights and its share, a half, of the last normalisation's 1,024; a byte a
// nanosecond through each port.
TEST(LayerWeightsNs, GoesAmongTheRanksOfContextAndDataParallelism) {
  const double bytes = 2 * (kProjections + kNetwork + 2048 + 512);
  ClusterSpec cluster = Slow();
  cluster.network = {.gpus_per_node = 4, .inter_node_bytes_per_second = 1e9};
  const struct {
    uint32_t tensor;
    uint32_t context;
    uint32_t pipeline;
    uint32_t data;
    double ns;
  } cases[] = {
      {1, 1, 1, 1, 0},
      {8, 1, 1, 1, 0},
      {4, 1, 1, 4, bytes / 4 * 3 / 4},  // one rank a node
      {4, 2, 1, 2, bytes / 4 * 3 / 4},
      {1, 1, 1, 8, bytes * 7 / 8 / 4},  // four ports a node
      {1, 2, 1, 4, bytes * 7 / 8 / 4},
      {1, 2, 2, 4, bytes * 7 / 8 / 2},  // a pipeline fills the node
      {1, 1, 2, 8, bytes * 7 / 8 / 2},  // two pipelines in a node
      {1, 1, 8, 4, bytes * 3 / 4},
      {2, 4, 1, 2, bytes / 2 * 7 / 8 / 2},  // CP alone exceeds the node
  };
  for (const auto& c : cases) {
    cluster.tensor_parallel = c.tensor;
    cluster.context_parallel = c.context;
    cluster.pipeline_parallel = c.pipeline;
    cluster.data_parallel = c.data;
    for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
      EXPECT_NEAR(LayerWeightsNs(SmallModel(), cluster, pass), c.ns, 1e-2)
          << "TP " << c.tensor << ", CP " << c.context << ", PP " << c.pipeline
          << ", DP " << c.data;
    }
  }
}

TEST(LayerWeightsNs, IsGatheredOverNvlinkWithinANodeOfPipelines) {
  ClusterSpec cluster = Slow();
  cluster.pipeline_parallel = 2;
  cluster.data_parallel = 2;
  const double mib = 2 * (kProjections + kNetwork + 2048 + 512) / kMebibyte;
  EXPECT_NEAR(LayerWeightsNs(SmallModel(), cluster, Pass::kForward),
              35'540 + (48'390 - 35'540) * (mib - 8) / 8, 1e-3);
  EXPECT_NEAR(LayerWeightsNs(SmallModel(), cluster, Pass::kBackward),
              46'970 + (69'320 - 46'970) * (mib - 8) / 8, 1e-3);
}

// Experts are held by one rank in expert_parallel, the rest by all.
TEST(LayerWeightsNs, SharesExpertsAmongFewerRanks) {
  ClusterSpec cluster = Slow();
  cluster.network = {.gpus_per_node = 2, .inter_node_bytes_per_second = 1e9};
  cluster.data_parallel = 8;
  const double others = 2 * (kProjections + 8192 + 2048 + 512) * 7 / 8 / 2;
  const double experts = 2 * 8 * kNetwork;
  const struct {
    uint32_t expert_parallel;
    double experts_ns;
  } cases[] = {
      {1, experts * 7 / 8 / 2},
      {2, experts / 2 * 3 / 4},  // four ranks of the same experts, on four nodes
      {4, experts / 4 * 1 / 2},
      {8, 0},
  };
  for (const auto& c : cases) {
    cluster.expert_parallel = c.expert_parallel;
    EXPECT_NEAR(LayerWeightsNs(SmallMixture(), cluster, Pass::kForward),
                others + c.experts_ns, 1e-2)
        << c.expert_parallel;
  }
}

}  // namespace
}  // namespace evenpack
