#include "gpu_worker/executor/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "gpu_worker/attention/cpu_attention.h"
#include "gpu_worker/communicator/local_group.h"
#include "gpu_worker/selftest/made_micro_batch.h"
#include "gpu_worker/selftest/selftest.h"
#include "server/core/document/invalid_field.h"
#include "server/core/sharding/pad_end.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_documents.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::Draw;
using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;

AttentionShape SmallShape() {
  AttentionShape shape;
  shape.query_heads = 4;
  shape.kv_heads = 2;
  shape.head_size = 64;
  return shape;
}

// An engine whose tasks' keys must lie together, and which checks that they do.
class TogetherAttention final : public AttentionEngine {
 public:
  KeyPlacement key_placement() const override { return KeyPlacement::kTogether; }
  absl::Status Forward(const AttentionCall& call,
                       const ForwardResult& result) override {
    Check(call);
    return engine_.Forward(call, result);
  }
  absl::Status Backward(const AttentionCall& call, const BackwardInput& input,
                        const BackwardResult& result) override {
    Check(call);
    return engine_.Backward(call, input, result);
  }

 private:
  static void Check(const AttentionCall& call) {
    for (const AttentionTask& task : call.tasks) {
      EXPECT_EQ(task.keys.size(), 1U);
      EXPECT_EQ(task.keys[0].received, call.tasks[0].keys[0].received);
    }
  }

  CpuAttention engine_{1};
};

std::unique_ptr<AttentionEngine> OneThread() {
  return std::make_unique<CpuAttention>(1);
}

// Forward and backward on all ranks of a group.
std::vector<RankTensors> Computed(const MadeMicroBatch& made, const ShardPlan& plan,
                                  const AttentionShape& shape,
                                  const ExecutorOptions& options = {}) {
  std::vector<RankTensors> tensors;
  for (uint32_t rank = 0; rank < plan.context_parallel; ++rank) {
    tensors.push_back(made.OfRank(plan, rank));
  }
  EXPECT_THAT(RunGroup(plan, shape, options.head_groups, OneThread, tensors), IsOk());
  return tensors;
}

AttentionErrors ErrorsOf(const ShardPlan& plan, const AttentionShape& shape,
                         const std::vector<uint32_t>& lengths,
                         const ExecutorOptions& options = {}) {
  const MadeMicroBatch tensors(shape, lengths, 3);
  return tensors.Compare(plan, Computed(tensors, plan, shape, options));
}

constexpr Sharding kShardings[] = {Sharding::kPerSequence, Sharding::kPerDocument,
                                   Sharding::kContiguous, Sharding::kHybrid};

TEST(ExecutorTest, AGroupComputesWhatTheDefinitionSays) {
  const std::vector<uint32_t> lengths = {70, 1, 33, 2, 128, 9};
  for (const Sharding sharding : kShardings) {
    for (const uint32_t cp : {1U, 2U, 3U, 4U, 8U}) {
      const ShardPlan plan = Planned(sharding, lengths, cp);
      EXPECT_LT(ErrorsOf(plan, SmallShape(), lengths).Largest(),
                AcceptedError(ElementType::kFloat32))
          << static_cast<int>(sharding) << " " << cp;
    }
  }
}

TEST(ExecutorTest, KeysMayHaveToLieTogether) {
  std::mt19937_64 random(11);
  for (int repeat = 0; repeat < 60; ++repeat) {
    std::vector<uint32_t> lengths(Draw(random, 1, 6));
    for (uint32_t& length : lengths) length = Draw(random, 1, 60);
    AttentionShape shape = SmallShape();
    shape.sliding_window = Draw(random, 0, 1) * Draw(random, 1, 40);
    const ShardPlan plan = Planned(kShardings[Draw(random, 0, 3)], lengths,
                                   Draw(random, 1, 5), 4 * Draw(random, 0, 1));
    const MadeMicroBatch made(shape, lengths, 3);
    std::vector<RankTensors> tensors;
    for (uint32_t rank = 0; rank < plan.context_parallel; ++rank) {
      tensors.push_back(made.OfRank(plan, rank));
    }
    EXPECT_THAT(RunGroup(
                    plan, shape, Draw(random, 1, 3),
                    [] { return std::make_unique<TogetherAttention>(); }, tensors),
                IsOk());
    ASSERT_LT(made.Compare(plan, tensors).Largest(),
              AcceptedError(ElementType::kFloat32))
        << repeat;
  }
}

// Ranks without a token of a document, empty slices, documents of one token, groups
// larger than the micro-batch.
TEST(ExecutorTest, FewTokensOnManyRanks) {
  for (const Sharding sharding : kShardings) {
    for (const std::vector<uint32_t>& lengths :
         {std::vector<uint32_t>{1}, {1, 1, 1}, {3}, {5, 1, 2}}) {
      const ShardPlan plan = Planned(sharding, lengths, 8);
      EXPECT_LT(ErrorsOf(plan, SmallShape(), lengths).Largest(),
                AcceptedError(ElementType::kFloat32));
    }
  }
}

TEST(ExecutorTest, PaddingIsNotReadAndBecomesNought) {
  const std::vector<uint32_t> lengths = {13, 1, 30, 7};
  for (const Sharding sharding : kShardings) {
    ShardPlan plan = Planned(sharding, lengths, 3, 4);
    if (sharding == Sharding::kHybrid) {
      ASSERT_TRUE(PadEnd(60, plan).ok());
    }
    ASSERT_GT(plan.padded_tokens, plan.tokens());
    EXPECT_LT(ErrorsOf(plan, SmallShape(), lengths).Largest(),
              AcceptedError(ElementType::kFloat32));
  }
}

TEST(ExecutorTest, HeadsMayBeExchangedInAnyNumberOfGroups) {
  AttentionShape shape = SmallShape();
  shape.query_heads = 10;
  shape.kv_heads = 5;
  const std::vector<uint32_t> lengths = {50, 20};
  const ShardPlan plan = Planned(Sharding::kPerDocument, lengths, 3);
  const MadeMicroBatch tensors(shape, lengths, 3);
  std::vector<RankTensors> first;
  for (const uint32_t groups : {1U, 2U, 3U, 5U, 100U}) {
    std::vector<RankTensors> results = Computed(tensors, plan, shape, {groups});
    EXPECT_LT(tensors.Compare(plan, results).Largest(),
              AcceptedError(ElementType::kFloat32))
        << groups;
    if (first.empty()) first = std::move(results);
  }
}

TEST(ExecutorTest, TensorsMayBeOfHalves) {
  const std::vector<uint32_t> lengths = {60, 5, 90};
  const ShardPlan plan = Planned(Sharding::kPerSequence, lengths, 4);
  AttentionShape shape = SmallShape();
  shape.type = ElementType::kBfloat16;
  EXPECT_LT(ErrorsOf(plan, shape, lengths).Largest(), 5e-3);
  shape.type = ElementType::kFloat16;
  EXPECT_LT(ErrorsOf(plan, shape, lengths).Largest(), 1e-3);
}

TEST(ExecutorTest, AnythingThatCanBePlannedIsComputed) {
  std::mt19937_64 random(6);
  for (int repeat = 0; repeat < 150; ++repeat) {
    std::vector<uint32_t> lengths(Draw(random, 1, 7));
    for (uint32_t& length : lengths) {
      length = Draw(random, 1, repeat % 2 == 0 ? 5 : 60);
    }
    AttentionShape shape = SmallShape();
    shape.kv_heads = Draw(random, 1, 3);
    shape.query_heads = shape.kv_heads * Draw(random, 1, 3);
    shape.sliding_window = Draw(random, 0, 1) * Draw(random, 1, 50);
    const ShardPlan plan = Planned(kShardings[Draw(random, 0, 2)], lengths,
                                   Draw(random, 1, 8), 2 * Draw(random, 0, 3));
    const ExecutorOptions options = {Draw(random, 1, 3)};
    ASSERT_LT(ErrorsOf(plan, shape, lengths, options).Largest(),
              AcceptedError(ElementType::kFloat32))
        << repeat;
  }
}

TEST(ExecutorTest, ResultsAreTheSameEachTime) {
  const std::vector<uint32_t> lengths = {200, 30, 77};
  const ShardPlan plan = Planned(Sharding::kPerDocument, lengths, 4);
  const MadeMicroBatch tensors(SmallShape(), lengths, 3);
  const std::vector<RankTensors> first = Computed(tensors, plan, SmallShape());
  const std::vector<RankTensors> second = Computed(tensors, plan, SmallShape());
  for (size_t rank = 0; rank < first.size(); ++rank) {
    EXPECT_EQ(first[rank].output, second[rank].output);
    EXPECT_EQ(first[rank].key_gradient, second[rank].key_gradient);
    EXPECT_EQ(first[rank].value_gradient, second[rank].value_gradient);
  }
}

TEST(ExecutorTest, RefusesAShapeAndAPlanOfAnotherGroupByName) {
  LocalGroup group(2);
  CpuAttention engine(1);
  const Executor executor(group.OfRank(0), engine, {});
  const auto other =
      executor.Prepare(Planned(Sharding::kPerSequence, {9}, 3), SmallShape());
  EXPECT_THAT(other.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("accepted: the group's ranks, 2")));
  EXPECT_EQ(RefusedField(other.status()), "plan.context_parallel");
  AttentionShape odd = SmallShape();
  odd.head_size = 100;
  EXPECT_EQ(
      RefusedField(
          executor.Prepare(Planned(Sharding::kPerSequence, {9}, 2), odd).status()),
      "head_size");
}

// An engine that fails from some call on.
class FailingAttention : public CpuAttention {
 public:
  explicit FailingAttention(int calls) : CpuAttention(1), calls_(calls) {}

  absl::Status Forward(const AttentionCall& call,
                       const ForwardResult& result) override {
    if (calls_-- == 0) return absl::InternalError("the device is gone");
    return CpuAttention::Forward(call, result);
  }

 private:
  int calls_;
};

// Else they would wait for its part.
TEST(ExecutorTest, ARankThatFailsEndsTheWorkOfItsPeers) {
  const std::vector<uint32_t> lengths = {64};
  const ShardPlan plan = Planned(Sharding::kPerSequence, lengths, 3);
  const MadeMicroBatch made(SmallShape(), lengths, 3);
  for (const int calls : {0, 1, 2}) {
    LocalGroup group(3);
    std::vector<absl::Status> statuses(3);
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < 3; ++rank) {
      threads.emplace_back([&, rank] {
        FailingAttention engine(rank == 1 ? calls : 1000);
        Executor executor(group.OfRank(rank), engine, {2});
        RankTensors of = made.OfRank(plan, rank);
        const PreparedMicroBatch prepared =
            executor.Prepare(plan, SmallShape()).value();
        // Rounds, since a rank may be done with one before another fails in it.
        while (statuses[rank].ok()) {
          statuses[rank] = executor.Forward(prepared, of.input(), of.result());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_THAT(statuses[1],
                StatusIs(absl::StatusCode::kInternal, HasSubstr("the device is gone")));
    for (const uint32_t peer : {0U, 2U}) {
      EXPECT_THAT(statuses[peer],
                  StatusIs(absl::StatusCode::kAborted,
                           HasSubstr("cp_rank 1 failed: the device is gone")));
    }
  }
}

// Rows of as many bytes, that the one would take for what they aren't.
TEST(ExecutorTest, RanksWhosePassesDifferAreToldSo) {
  struct Pass {
    ElementType type = ElementType::kBfloat16;
    uint32_t micro_batch = 0;
  };
  const std::vector<uint32_t> lengths = {64};
  const ShardPlan plan = Planned(Sharding::kPerSequence, lengths, 2);
  for (const Pass& other :
       {Pass{.type = ElementType::kFloat16}, Pass{.micro_batch = 1}}) {
    LocalGroup group(2);
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < 2; ++rank) {
      threads.emplace_back([&, rank, pass = rank == 0 ? Pass() : other] {
        AttentionShape shape = SmallShape();
        shape.type = pass.type;
        CpuAttention engine(1);
        Executor executor(group.OfRank(rank), engine, {});
        RankTensors of = MadeMicroBatch(shape, lengths, 3).OfRank(plan, rank);
        PreparedMicroBatch prepared = executor.Prepare(plan, shape).value();
        prepared.index = pass.micro_batch;
        EXPECT_THAT(executor.Forward(prepared, of.input(), of.result()),
                    StatusIs(absl::StatusCode::kFailedPrecondition,
                             HasSubstr("is in another pass than cp_rank")));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(ExecutorOptionsTest, GroupsOfHeadsAreFewerWhereTheyWouldBeSmall) {
  PreparedMicroBatch prepared;
  prepared.shape.type = ElementType::kBfloat16;
  prepared.shape.kv_heads = 8;
  prepared.shape.head_size = 128;
  // Keys and values of 4 MiB.
  prepared.cut_tokens = 1024;
  constexpr size_t kMiB = 1 << 20;
  const struct {
    uint32_t head_groups;
    size_t least_group_bytes;
    uint32_t groups;
  } cases[] = {{4, 0, 4},        {4, kMiB, 4},     {8, kMiB, 4},
               {4, 2 * kMiB, 2}, {4, 3 * kMiB, 1}, {4, 128 * kMiB, 1}};
  for (const auto& of : cases) {
    const ExecutorOptions options = {.head_groups = of.head_groups,
                                     .least_group_bytes = of.least_group_bytes};
    EXPECT_EQ(options.HeadGroupsOf(prepared), of.groups)
        << of.head_groups << " groups of " << of.least_group_bytes << " bytes";
  }
}

}  // namespace
}  // namespace evenpack::worker
