#include "server/core/pipeline/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/server/core/cost/refused_field.h"

namespace evenpack {
namespace {

constexpr double kMiB = 1024.0 * 1024;
constexpr double kGiB = 1024 * kMiB;
constexpr Collective kGather = Collective::kAllGather;
constexpr Collective kScatter = Collective::kReduceScatter;

GroupPlacement InNode(uint32_t ranks) { return {ranks, ranks}; }

double MicrosecondsInNode(Collective collective, uint32_t ranks, double bytes) {
  return CollectiveNs({}, collective, InNode(ranks), bytes) / 1000;
}

TEST(CollectiveNs, IsWhatWasMeasuredAtMeasuredSizes) {
  const struct {
    Collective collective;
    uint32_t ranks;
    double bytes;
    double us;
  } cases[] = {
      {kGather, 2, 8 * kMiB, 35.54},    {kGather, 2, 16 * kMiB, 48.39},
      {kGather, 2, 128 * kMiB, 235.8},  {kGather, 2, 8 * kGiB, 11821.0},
      {kGather, 4, 8 * kMiB, 56.11},    {kGather, 4, 32 * kMiB, 106.1},
      {kGather, 4, 1 * kGiB, 2221.5},   {kGather, 4, 8 * kGiB, 17515.0},
      {kGather, 8, 8 * kMiB, 75.68},    {kGather, 8, 64 * kMiB, 207.0},
      {kGather, 8, 512 * kMiB, 1314.8}, {kGather, 8, 4 * kGiB, 10258.0},
      {kScatter, 2, 8 * kMiB, 46.97},   {kScatter, 2, 256 * kMiB, 590.9},
      {kScatter, 2, 8 * kGiB, 15253.0}, {kScatter, 4, 16 * kMiB, 70.43},
      {kScatter, 4, 8 * kGiB, 18536.0}, {kScatter, 8, 8 * kMiB, 91.78},
      {kScatter, 8, 2 * kGiB, 5393.5},  {kScatter, 8, 8 * kGiB, 20969.0},
  };
  for (const auto& c : cases) {
    EXPECT_NEAR(MicrosecondsInNode(c.collective, c.ranks, c.bytes), c.us, 1e-6)
        << c.ranks << " ranks, " << c.bytes << " bytes";
  }
}

TEST(CollectiveNs, DrawsLinesBetweenAndBeyondMeasuredSizes) {
  EXPECT_NEAR(MicrosecondsInNode(kGather, 2, 12 * kMiB), (35.54 + 48.39) / 2, 1e-6);
  EXPECT_NEAR(MicrosecondsInNode(kScatter, 8, 5 * kGiB),
              10639.0 + (20969.0 - 10639.0) / 4, 1e-6);
  EXPECT_NEAR(MicrosecondsInNode(kGather, 2, 16 * kGiB),
              11821.0 + 2 * (11821.0 - 5944.9), 1e-6);
  // Half of the least size: half a step of 8 MiB less.
  EXPECT_NEAR(MicrosecondsInNode(kGather, 2, 4 * kMiB), 35.54 - (48.39 - 35.54) / 2,
              1e-6);
  EXPECT_NEAR(MicrosecondsInNode(kGather, 8, 1), 75.68 - (87.96 - 75.68), 1e-4);
}

TEST(CollectiveNs, TakesTheNextLargerNumberOfRanks) {
  EXPECT_EQ(MicrosecondsInNode(kGather, 3, kGiB), MicrosecondsInNode(kGather, 4, kGiB));
  EXPECT_EQ(MicrosecondsInNode(kGather, 5, kGiB), MicrosecondsInNode(kGather, 8, kGiB));
  // A rank of 16 receives 15/16, one of 8 receives 7/8.
  EXPECT_NEAR(MicrosecondsInNode(kGather, 16, kGiB), 2589.3 * (15.0 / 16) / (7.0 / 8),
              1e-6);
}

TEST(CollectiveNs, PricesAnAllToAllWithinANodeAsAnAllGather) {
  for (const uint32_t ranks : {2U, 4U, 8U}) {
    EXPECT_EQ(MicrosecondsInNode(Collective::kAllToAll, ranks, 100 * kMiB),
              MicrosecondsInNode(kGather, ranks, 100 * kMiB));
  }
}

TEST(CollectiveNs, IsNothingForOneRankOrNoBytes) {
  for (const Collective collective : {kGather, kScatter, Collective::kAllToAll}) {
    EXPECT_EQ(CollectiveNs({}, collective, InNode(1), kGiB), 0);
    EXPECT_EQ(CollectiveNs({}, collective, InNode(8), 0), 0);
    EXPECT_EQ(CollectiveNs({}, collective, {16, 8}, 0), 0);
  }
}

TEST(CollectiveNs, AcrossNodesARingIsAsFastAsItsPorts) {
  const NetworkSpec network = {.gpus_per_node = 8, .inter_node_bytes_per_second = 50e9};
  // 4 ranks on 4 nodes receive 3/4 of 2 GB at 50 GB/s.
  EXPECT_NEAR(CollectiveNs(network, kGather, {4, 1}, 2e9), 30e6, 1e-3);
  EXPECT_NEAR(CollectiveNs(network, kScatter, {4, 1}, 2e9), 30e6, 1e-3);
  // 4 ranks on 2 nodes: two ports each.
  EXPECT_NEAR(CollectiveNs(network, kGather, {4, 2}, 2e9), 15e6, 1e-3);
  // 16 ranks on 2 nodes: eight of 45 GB/s.
  EXPECT_NEAR(CollectiveNs({}, kGather, {16, 8}, 16e9), 15e9 / 360, 1e-3);
}

TEST(CollectiveNs, AcrossFastPortsARingIsAsFastAsNvlink) {
  const NetworkSpec network = {.gpus_per_node = 8, .inter_node_bytes_per_second = 1e12};
  EXPECT_NEAR(CollectiveNs(network, kGather, {16, 8}, kGiB),
              2589.3e3 * (15.0 / 16) / (7.0 / 8), 1e-3);
  EXPECT_NEAR(CollectiveNs(network, kScatter, {8, 4}, kGiB),
              2509.5e3 * (7.0 / 8) / (3.0 / 4), 1e-3);
}

// Unlike in a ring, what leaves a node is each rank's own, and through its own port.
TEST(CollectiveNs, AcrossNodesAnAllToAllSendsItsShareThroughEachPort) {
  const NetworkSpec network = {.gpus_per_node = 8, .inter_node_bytes_per_second = 50e9};
  EXPECT_NEAR(CollectiveNs(network, Collective::kAllToAll, {4, 1}, 2e9), 30e6, 1e-3);
  // 8 of 16 ranks are on the other node.
  EXPECT_NEAR(CollectiveNs(network, Collective::kAllToAll, {16, 8}, 16e9), 160e6, 1e-3);
  EXPECT_NEAR(CollectiveNs(network, Collective::kAllToAll, {4, 2}, 2e9), 20e6, 1e-3);
  // Over fast ports NVLink is what counts: half of the whole stays in the node.
  const NetworkSpec fast = {.gpus_per_node = 8, .inter_node_bytes_per_second = 1e13};
  EXPECT_NEAR(CollectiveNs(fast, Collective::kAllToAll, {16, 8}, 2 * kGiB), 2589.3e3,
              1e-3);
}

TEST(CollectiveNs, RisesWithTheBytes) {
  for (const Collective collective : {kGather, kScatter, Collective::kAllToAll}) {
    for (const GroupPlacement& group :
         {InNode(2), InNode(4), InNode(8), InNode(32), GroupPlacement{16, 8},
          GroupPlacement{6, 3}, GroupPlacement{16, 1}}) {
      double before = 0;
      for (double bytes = 1; bytes < 40 * kGiB; bytes *= 1.3) {
        const double now = CollectiveNs({}, collective, group, bytes);
        ASSERT_GT(now, before);
        before = now;
      }
    }
  }
}

TEST(SendNs, GoesOverNvlinkOrThePort) {
  const NetworkSpec network = {.gpus_per_node = 8, .inter_node_bytes_per_second = 50e9};
  // A rank of two that gather 16 MiB receives 8 MiB.
  EXPECT_NEAR(SendNs(network, InNode(4), 8 * kMiB), 48.39e3, 1e-3);
  EXPECT_NEAR(SendNs(network, {4, 2}, 5e9), 100e6, 1e-3);
  EXPECT_NEAR(SendNs(network, {4, 1}, 5e9), 100e6, 1e-3);
  EXPECT_EQ(SendNs(network, InNode(1), 5e9), 0);
  EXPECT_EQ(SendNs(network, InNode(4), 0), 0);
}

TEST(PlaceGroup, FillsANodeWithTheInnerKindsFirst) {
  const struct {
    uint32_t gpus_per_node;
    uint64_t stride;
    uint32_t ranks;
    uint32_t per_node;
  } cases[] = {
      {8, 1, 8, 8}, {8, 1, 4, 4},  {8, 1, 16, 8},
      {8, 2, 4, 4}, {8, 2, 8, 4},  {8, 4, 4, 2},
      {8, 8, 4, 1}, {8, 3, 4, 2},  {8, 16, 2, 1},
      {1, 1, 4, 1}, {72, 8, 4, 4}, {72, 8, 16, 9},
      {8, 8, 1, 1}, {8, 1, 1, 1},  {8, uint64_t{1} << 40, 1024, 1},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(PlaceGroup({.gpus_per_node = c.gpus_per_node}, c.stride, c.ranks),
              (GroupPlacement{c.ranks, c.per_node}))
        << c.ranks << " ranks, " << c.stride << " apart, " << c.gpus_per_node
        << " GPUs in a node";
  }
}

TEST(ValidateNetworkSpec, RefusesEachBadField) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(Validate(NetworkSpec{}).ok());
  EXPECT_TRUE(Validate(NetworkSpec{1, 1}).ok());
  EXPECT_TRUE(Validate(NetworkSpec{1024, 1e13}).ok());
  EXPECT_THAT(Validate(NetworkSpec{0, 45e9}),
              RefusesField("gpus_per_node", "0", "1 to 1024"));
  EXPECT_THAT(Validate(NetworkSpec{1025, 45e9}),
              RefusesField("gpus_per_node", "1025", "1 to 1024"));
  const struct {
    double speed;
    const char* value;
  } speeds[] = {{0, "0"},        {-1, "-1"},         {0.5, "0.5"},
                {2e13, "2e+13"}, {kInfinite, "inf"}, {kNan, "nan"}};
  for (const auto& c : speeds) {
    EXPECT_THAT(Validate(NetworkSpec{8, c.speed}),
                RefusesField("inter_node_bytes_per_second", c.value, "1 to 1e13"));
  }
}

}  // namespace
}  // namespace evenpack
