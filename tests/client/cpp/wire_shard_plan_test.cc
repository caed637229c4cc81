#include "client/cpp/wire_shard_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "server/core/sharding/pad_end.h"
#include "tests/client/cpp/test_history.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::MakeMicroBatch;
using ::evenpack::testing::MakePlan;
using ::evenpack::testing::StatusIs;
using ::testing::HasSubstr;

const std::vector<uint32_t> kLengths = {7, 2, 5, 4, 3};

v1::MicroBatch MessageOf(const ShardPlan& plan, uint32_t cp_rank = 0) {
  return testing::ToMessage(MakeMicroBatch(kLengths, plan), plan, 0, cp_rank);
}

TEST(WireShardPlan, PlansOfEveryKindAreReadBack) {
  for (const Sharding sharding :
       {Sharding::kPerSequence, Sharding::kPerDocument, Sharding::kContiguous}) {
    for (const uint32_t context_parallel : {1U, 2U, 3U}) {
      for (const uint32_t pad_to : {0U, 4U}) {
        const ShardPlan plan = MakePlan(sharding, kLengths, context_parallel, pad_to);
        const absl::StatusOr<ShardPlan> read =
            ReadShardPlan(MessageOf(plan).plan(), kLengths);
        ASSERT_THAT(read, IsOk());
        EXPECT_EQ(*read, plan);
      }
    }
  }
}

ShardPlan HybridPlan() {
  ShardPlan plan;
  plan.sharding = Sharding::kHybrid;
  plan.context_parallel = 2;
  plan.document_starts = DocumentStarts(kLengths);
  plan.padded_tokens = 21;
  plan.owner = {kCutDocument, 0, 1, kCutDocument, 0};
  plan.slot_starts = {0, 1U << 30, 1U << 31, 3U << 30, kWholeShare};
  return plan;
}

TEST(WireShardPlan, HybridPlansAreReadBack) {
  ShardPlan plan = HybridPlan();
  for (const uint64_t padded_tokens : {21U, 48U}) {
    ASSERT_THAT(PadEnd(padded_tokens, plan), IsOk());
    const absl::StatusOr<ShardPlan> read =
        ReadShardPlan(MessageOf(plan).plan(), kLengths);
    ASSERT_THAT(read, IsOk());
    EXPECT_EQ(*read, plan);
  }
}

TEST(WireShardPlan, PaddingAtTheEndIsReadBack) {
  for (const Sharding sharding : {Sharding::kPerSequence, Sharding::kPerDocument}) {
    for (const uint32_t pad_to : {0U, 4U}) {
      ShardPlan plan = MakePlan(sharding, kLengths, 2, pad_to);
      ASSERT_THAT(PadEnd(48, plan), IsOk());
      const absl::StatusOr<ShardPlan> read =
          ReadShardPlan(MessageOf(plan).plan(), kLengths);
      ASSERT_THAT(read, IsOk());
      EXPECT_EQ(*read, plan);
    }
  }
}

TEST(WireShardPlan, AnEmptyPlanIsReadBack) {
  for (const Sharding sharding : {Sharding::kPerSequence, Sharding::kPerDocument}) {
    const ShardPlan plan = MakePlan(sharding, {}, 2);
    const absl::StatusOr<ShardPlan> read = ReadShardPlan(
        testing::ToMessage(MakeMicroBatch({}, plan), plan, 0, {}).plan(), {});
    ASSERT_THAT(read, IsOk());
    EXPECT_EQ(*read, plan);
  }
}

struct Damage {
  std::string says;
  std::function<void(v1::ShardPlan&)> done;
};

void ExpectRefused(const ShardPlan& plan, const std::vector<Damage>& damages) {
  for (const Damage& damage : damages) {
    v1::ShardPlan message = MessageOf(plan).plan();
    damage.done(message);
    EXPECT_THAT(ReadShardPlan(message, kLengths),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(damage.says)));
  }
}

TEST(WireShardPlan, RefusesWhatNoPlanLooksLike) {
  ExpectRefused(
      MakePlan(Sharding::kPerSequence, kLengths, 2),
      {{"plan.sharding is 0",
        [](auto& m) { m.set_sharding(v1::SHARDING_UNSPECIFIED); }},
       {"plan.sharding is 3", [](auto& m) { m.set_sharding(v1::SHARDING_ADAPTIVE); }},
       {"plan.context_parallel is 0", [](auto& m) { m.set_context_parallel(0); }},
       {"plan.context_parallel is 1025", [](auto& m) { m.set_context_parallel(1025); }},
       {"plan.padded_tokens is 20", [](auto& m) { m.set_padded_tokens(20); }},
       {"plan.padded_tokens is 2147483648",
        [](auto& m) { m.set_padded_tokens(2147483648); }},
       {"plan.slot_starts has 4 entries; expected: 5",
        [](auto& m) { m.mutable_slot_starts()->RemoveLast(); }},
       {"plan.slot_tokens has 1 entries; expected: 0",
        [](auto& m) { m.add_slot_tokens(1); }},
       {"plan.slot_starts falls at 5", [](auto& m) { m.set_slot_starts(2, 5); }},
       {"plan.slot_starts runs from 1 to 21", [](auto& m) { m.set_slot_starts(0, 1); }},
       {"plan.slot_starts runs from 0 to 22",
        [](auto& m) { m.set_slot_starts(4, 22); }}});
}

TEST(WireShardPlan, RefusesWhatNoHybridPlanLooksLike) {
  ExpectRefused(
      HybridPlan(),
      {{"plan.owner has 4 entries; expected: 5",
        [](auto& m) { m.mutable_owner()->RemoveLast(); }},
       {"plan.owner is 3; expected: 0 (cut) to 2", [](auto& m) { m.set_owner(0, 3); }},
       {"plan.owner has 5 entries; expected: 0",
        [](auto& m) {
          m.set_sharding(v1::SHARDING_PER_SEQUENCE);
          m.set_slot_starts(4, 21);
          for (int i = 1; i < 4; ++i) m.set_slot_starts(i, 5);
        }},
       {"plan.slot_starts runs from 0 to 21; expected: 0 to 4294967296",
        [](auto& m) {
          for (int i = 1; i < 5; ++i) m.set_slot_starts(i, 21);
        }},
       {"plan.slot_starts falls", [](auto& m) { m.set_slot_starts(2, 1); }},
       {"plan.pad_multiple is 4", [](auto& m) { m.set_pad_multiple(4); }}});
}

TEST(WireShardPlan, RefusesWhatNoPlanByDocumentLooksLike) {
  ExpectRefused(
      MakePlan(Sharding::kPerDocument, kLengths, 2),
      {{"plan.slot_starts has 1 entries; expected: 0",
        [](auto& m) { m.add_slot_starts(0); }},
       {"plan.slot_tokens has 6 entries", [](auto& m) { m.add_slot_tokens(0); }},
       {"plan.left_over has 6 entries", [](auto& m) { m.add_left_over(0); }},
       {"plan.cursor has 6 entries", [](auto& m) { m.add_cursor(0); }},
       {"plan: document 0 of 7 tokens is cut as 2 a slot and 3 left over",
        [](auto& m) { m.set_slot_tokens(0, 2); }},
       {"plan: document 0 of 7 tokens",
        [](auto& m) {
          m.set_slot_tokens(0, 0);
          m.set_left_over(0, 7);
        }},
       {"plan: document 0 of 7 tokens", [](auto& m) { m.set_cursor(0, 4); }},
       {"plan: document 0 of 7 tokens", [](auto& m) { m.clear_left_over(); }}});
}

TEST(WireShardPlan, RefusesWhatNoPaddedPlanByDocumentLooksLike) {
  ExpectRefused(MakePlan(Sharding::kPerDocument, kLengths, 2, 4),
                {{"plan: document 0 of 7 tokens is cut as 1 a slot",
                  [](auto& m) { m.set_slot_tokens(0, 1); }},
                 {"plan: document 0 of 7 tokens",
                  [](auto& m) { m.set_slot_tokens(0, 1U << 31); }},
                 {"plan.padded_tokens is 28; expected: 32",
                  [](auto& m) { m.set_slot_tokens(4, 2); }}});
}

TEST(WireShardPlan, SlicesAreReadBack) {
  const ShardPlan plan = MakePlan(Sharding::kPerDocument, kLengths, 2);
  for (const uint32_t rank : {0U, 1U}) {
    const absl::StatusOr<RankSlices> read =
        ReadRankSlices(MessageOf(plan, rank).slices(), kLengths);
    ASSERT_THAT(read, IsOk());
    EXPECT_EQ(*read, ExpandRank(plan, rank));
  }
}

TEST(WireShardPlan, RefusesSlicesOfNoDocument) {
  const v1::RankSlices slices =
      MessageOf(MakePlan(Sharding::kPerSequence, kLengths, 2)).slices();
  const std::vector<std::pair<std::string, std::function<void(v1::RankSlices&)>>>
      damages = {
          {"slices.begin has", [](auto& m) { m.add_begin(0); }},
          {"slices.end has", [](auto& m) { m.mutable_end()->RemoveLast(); }},
          {"slice 0 is tokens 0 to 6 of document 5",
           [](auto& m) { m.set_document(0, 5); }},
          {"slice 0 is tokens 6 to 6", [](auto& m) { m.set_begin(0, 6); }},
          {"slice 0 is tokens 0 to 8", [](auto& m) { m.set_end(0, 8); }},
      };
  for (const auto& [says, done] : damages) {
    v1::RankSlices message = slices;
    done(message);
    EXPECT_THAT(ReadRankSlices(message, kLengths),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(says)));
  }
}

}  // namespace
}  // namespace evenpack::client
