#include "gpu_worker/executor/gradient_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "gpu_worker/communicator/local_group.h"
#include "gpu_worker/selftest/made_micro_batch.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::_;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

AttentionShape TwoHeads() {
  AttentionShape shape;
  shape.query_heads = 2;
  shape.kv_heads = 2;
  shape.head_size = 64;
  return shape;
}

GradientSums Zero(uint64_t rows, size_t row) {
  return GradientSums::Zero(Device::Host(), rows, row).value();
}

std::vector<float> Numbers(const float* first, const GradientSums& sums) {
  return {first, first + sums.size()};
}

TEST(GradientSumsTest, BeginAtNought) {
  const GradientSums sums = Zero(3, 64);
  EXPECT_EQ(sums.row(), 64U);
  EXPECT_EQ(sums.size(), 3U * 64);
  EXPECT_THAT(Numbers(sums.key(), sums), Each(0.0F));
  EXPECT_THAT(Numbers(sums.value(), sums), Each(0.0F));
  EXPECT_EQ(sums.Keys(5).data, sums.key() + 5);
  EXPECT_EQ(sums.Values(0).stride, 64U);
  EXPECT_EQ(sums.All().rows, 3U);
  EXPECT_EQ(sums.All().columns, 64U);
  EXPECT_EQ(Zero(0, 64).Keys(5).data, nullptr);
}

TEST(GradientSumsTest, ATermIsOfRowsFromAColumnOn) {
  const GradientSums sums = Zero(3, 64);
  const std::vector<RowMove> moves = {{0, 5, 2}};
  const RowTerm term = sums.Term(moves, 16);
  EXPECT_EQ(term.tensors[0], sums.key() + 16);
  EXPECT_EQ(term.tensors[1], sums.value() + 16);
  EXPECT_EQ(term.stride, 64 * sizeof(float));
  EXPECT_EQ(term.moves.data(), moves.data());
}

// Each rank gives every row that it received its own number and its rank, and each
// owner finds in every row the numbers of those that received it.
TEST(GradientSumsTest, OwnersGetTheSumOfWhatEachPeerComputed) {
  constexpr uint32_t kRanks = 3;
  const AttentionShape shape = TwoHeads();
  const ShardPlan plan = Planned(Sharding::kPerSequence, {60}, kRanks);
  LocalGroup group(kRanks);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      const PreparedMicroBatch prepared = PrepareMicroBatch(plan, rank, shape);
      // The second head alone.
      const auto returned =
          ReturnedGradients::Make(prepared, HeadView(shape, {1, 1}), Device::Host())
              .value();
      const GradientSums& sums = *returned->Zeroed().value();
      const FloatRows key = sums.Keys(0);
      const FloatRows value = sums.Values(0);
      for (uint64_t i = 0; i < prepared.layout.received_rows * 64; ++i) {
        key.data[i] = static_cast<float>(1U << rank);
        value.data[i] = static_cast<float>(100U << rank);
      }
      EXPECT_THAT(returned->Start(group.OfRank(rank)), IsOk());
      std::vector<RowTerm> terms;
      EXPECT_THAT(returned->AppendTo(terms), IsOk());
      const GradientSums own = Zero(prepared.layout.own_rows, 64);
      EXPECT_THAT(Device::Host().SumRows(terms, own.All()), IsOk());
      std::vector<float> expected(prepared.layout.own_rows, 0);
      for (uint32_t peer = 0; peer < kRanks; ++peer) {
        for (const RowRange& range : prepared.layout.send[peer]) {
          for (uint64_t i = 0; i < range.count; ++i) {
            expected[range.row + i] += static_cast<float>(1U << peer);
          }
        }
      }
      for (uint64_t row = 0; row < prepared.layout.own_rows; ++row) {
        for (size_t column = 0; column < 64; ++column) {
          ASSERT_EQ(own.key()[row * 64 + column], expected[row]);
          ASSERT_EQ(own.value()[row * 64 + column], 100 * expected[row]);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(GradientSumsTest, AnAbortedGroupReturnsNothing) {
  const AttentionShape shape = TwoHeads();
  const ShardPlan plan = Planned(Sharding::kPerSequence, {60}, 2);
  LocalGroup group(2);
  const PreparedMicroBatch prepared = PrepareMicroBatch(plan, 0, shape);
  const auto returned =
      ReturnedGradients::Make(prepared, HeadView(shape, {0, 2}), Device::Host())
          .value();
  EXPECT_THAT(returned->Start(group.OfRank(0)), IsOk());
  group.OfRank(1).Abort(absl::AbortedError("a rank is gone"));
  std::vector<RowTerm> terms;
  EXPECT_THAT(returned->AppendTo(terms), StatusIs(absl::StatusCode::kAborted, _));
  EXPECT_THAT(terms, IsEmpty());
}

}  // namespace
}  // namespace evenpack::worker
