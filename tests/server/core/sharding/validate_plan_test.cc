#include "server/core/sharding/validate_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "server/core/sharding/pad_end.h"
#include "tests/server/core/sharding/random_lengths.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using Ranks = std::vector<RankSlices>;

void ExpectSound(const std::vector<uint32_t>& lengths, uint32_t context_parallel,
                 uint32_t pad_to) {
  for (const Sharding sharding : kPlannedShardings) {
    const ShardPlan plan = PlanOf(sharding, lengths, context_parallel, pad_to);
    ASSERT_EQ(Validate(plan, lengths), absl::OkStatus())
        << context_parallel << " padded to " << pad_to;
    ASSERT_EQ(ValidateSlices(lengths, sharding, context_parallel, pad_to,
                             ExpandAllRanks(plan)),
              absl::OkStatus());
  }
}

TEST(ValidatePlanTest, AcceptsEveryPlanOfRandomLengths) {
  std::mt19937_64 random(31);
  for (const uint32_t context_parallel : ContextParallelSizes()) {
    const int rounds = context_parallel <= 40 ? 12 : 2;
    for (int round = 0; round < rounds; ++round) {
      const std::vector<uint32_t> lengths = RandomLengths(random, 2 * context_parallel);
      for (const uint32_t pad_to : {0u, 1u, 7u, 128u}) {
        ExpectSound(lengths, context_parallel, pad_to);
      }
    }
  }
}

TEST(ValidatePlanTest, AcceptsAwkwardLengths) {
  for (const uint32_t context_parallel : {1u, 2u, 3u, 16u, 31u, 1023u, 1024u}) {
    for (const std::vector<uint32_t>& lengths : AwkwardLengths()) {
      for (const uint32_t pad_to : {0u, 1u, 100u}) {
        ExpectSound(lengths, context_parallel, pad_to);
      }
    }
  }
}

TEST(ValidatePlanTest, AcceptsEveryMix) {
  std::mt19937_64 random(33);
  for (const uint32_t context_parallel : ContextParallelSizes()) {
    std::vector<std::vector<uint32_t>> cases = AwkwardLengths();
    cases.push_back(RandomLengths(random, 2 * context_parallel));
    for (const std::vector<uint32_t>& lengths : cases) {
      ShardPlan plan = RandomMix(random, lengths, context_parallel);
      if (plan.tokens() > 0 && plan.tokens() < 1'000'000) {
        ASSERT_EQ(PadEnd(plan.tokens() + Draw(random, 50), plan), absl::OkStatus());
      }
      ASSERT_EQ(Validate(plan, lengths), absl::OkStatus()) << context_parallel;
      ASSERT_EQ(ValidateSlices(lengths, Sharding::kHybrid, context_parallel, 0,
                               ExpandAllRanks(plan), plan.padded_tokens),
                absl::OkStatus());
    }
  }
}

TEST(ValidatePlanTest, RefusesDamagedMixes) {
  std::mt19937_64 random(34);
  ShardPlan sound = RandomMix(random, {90, 40, 7, 300}, 3);
  sound.owner = {2, kCutDocument, 0, kCutDocument};
  ASSERT_EQ(PadEnd(444, sound), absl::OkStatus());
  ASSERT_EQ(Validate(sound), absl::OkStatus());
  const std::vector<std::pair<std::string, std::function<void(ShardPlan&)>>> damages = {
      {"document 2: owner 3; accepted: a rank below 3, or 65535 (cut)",
       [](ShardPlan& p) { p.owner[2] = 3; }},
      {"owner has 3 entries; accepted: 4", [](ShardPlan& p) { p.owner.pop_back(); }},
      {"owner has 4 entries; accepted: 0",
       [](ShardPlan& p) { p.sharding = Sharding::kPerSequence; }},
      {"slot_starts has 6 entries; accepted: 7",
       [](ShardPlan& p) { p.slot_starts.pop_back(); }},
      {"slot_starts runs from 0 to 437; accepted: 0 to 4294967296",
       [](ShardPlan& p) { p.slot_starts.back() = 437; }},
      {"accepted: starts that do not fall",
       [](ShardPlan& p) { p.slot_starts[3] = kWholeShare + 1; }},
      {"pad_multiple 6; accepted: 0 for hybrid",
       [](ShardPlan& p) { p.pad_multiple = 6; }},
      {"padded_tokens 436; accepted: 437", [](ShardPlan& p) { p.padded_tokens = 436; }},
  };
  for (const auto& [says, done] : damages) {
    ShardPlan plan = sound;
    done(plan);
    const absl::Status status = Validate(plan);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << says;
    EXPECT_THAT(std::string(status.message()), HasSubstr(says));
  }
}

TEST(ValidateSlicesTest, RefusesMixesWithUnequalPadding) {
  std::mt19937_64 random(35);
  const std::vector<uint32_t> lengths = {90, 40};
  ShardPlan plan = RandomMix(random, lengths, 2);
  plan.owner = {1, kCutDocument};
  const Ranks sound = ExpandAllRanks(plan);
  const auto check = [&](const Ranks& ranks, uint32_t pad_to) {
    return ValidateSlices(lengths, Sharding::kHybrid, 2, pad_to, ranks);
  };
  EXPECT_EQ(check(sound, 0), absl::OkStatus());
  EXPECT_EQ(check(sound, 4).code(), absl::StatusCode::kInvalidArgument);
  Ranks broken = sound;
  broken[1].padding = 1;
  EXPECT_THAT(std::string(check(broken, 0).message()),
              HasSubstr("rank 1: padding 1, its share of 0 is 0"));
}

// A brute-force cover, so that the validator is not the only judge of itself.
TEST(ValidatePlanTest, EveryTokenIsOnExactlyOneRank) {
  std::mt19937_64 random(37);
  for (uint32_t context_parallel = 1; context_parallel <= 12; ++context_parallel) {
    const std::vector<uint32_t> lengths = RandomLengths(random, 2 * context_parallel);
    std::vector<ShardPlan> plans = {RandomMix(random, lengths, context_parallel)};
    for (const Sharding sharding : kPlannedShardings) {
      plans.push_back(PlanOf(sharding, lengths, context_parallel, 3));
    }
    for (const ShardPlan& plan : plans) {
      std::vector<std::vector<int>> owners;
      for (const uint32_t length : lengths) owners.emplace_back(length, 0);
      for (const RankSlices& rank : ExpandAllRanks(plan)) {
        for (size_t i = 0; i < rank.size(); ++i) {
          for (uint32_t t = rank.begin[i]; t < rank.end[i]; ++t) {
            ++owners[rank.document[i]][t];
          }
        }
      }
      for (const std::vector<int>& document : owners) {
        EXPECT_THAT(document, ::testing::Each(1));
      }
    }
  }
}

void Erase(RankSlices& rank, size_t i) {
  const auto at = static_cast<std::ptrdiff_t>(i);
  rank.tokens -= rank.end[i] - rank.begin[i];
  rank.document.erase(rank.document.begin() + at);
  rank.begin.erase(rank.begin.begin() + at);
  rank.end.erase(rank.end.begin() + at);
  if (i < rank.front_slices) --rank.front_slices;
}

// Three documents over CP = 2. Per document, rank 0 has the slices 0: 0-2, 1: 0-1,
// 2: 0-1 and 0: 6-7, 1: 1-2, 2: 4-5; rank 1 has 0: 2-4, 2: 1-3 and 0: 4-6, 2: 3-4.
// Per sequence (14 tokens, slots at 0, 4, 8, 11), rank 0 has 0: 0-4 and 2: 2-5, rank 1
// has 0: 4-7, 1: 0-1 and 1: 1-2, 2: 0-2.
const std::vector<uint32_t> kLengths = {7, 2, 5};

struct SliceDamage {
  const char* name;
  Sharding sharding;
  uint32_t pad_to;
  std::function<void(Ranks&)> damage;
  std::string message;
};

const SliceDamage kSliceDamages[] = {
    {"a slice is lost", Sharding::kPerDocument, 0, [](Ranks& r) { Erase(r[0], 0); },
     "rank 1, document 0, token 2: the slice begins here, but token 0 is in no"},
    {"the last slice is lost", Sharding::kPerDocument, 0,
     [](Ranks& r) { Erase(r[0], 5); }, "document 2, token 4: is on no rank"},
    {"a slice is there twice", Sharding::kPerDocument, 0,
     [](Ranks& r) {
       r[1].begin[0] = 0;
       r[1].end[0] = 2;
     },
     "rank 1, document 0, token 0: is in an earlier slot too"},
    {"slices overlap", Sharding::kPerDocument, 0,
     [](Ranks& r) {
       r[1].begin[0] = 1;
       ++r[1].tokens;
     },
     "rank 1, document 0, token 1: is in an earlier slot too"},
    {"a gap", Sharding::kPerDocument, 0,
     [](Ranks& r) {
       r[1].begin[0] = 3;
       --r[1].tokens;
     },
     "rank 1, document 0, token 3: the slice begins here, but token 2 is in no"},
    {"a slice goes beyond its document", Sharding::kPerDocument, 0,
     [](Ranks& r) {
       r[0].end[5] = 6;
       ++r[0].tokens;
     },
     "rank 0, document 2, token 4: the slice ends at token 6, the document at 5"},
    {"a document that is not there", Sharding::kPerDocument, 0,
     [](Ranks& r) { r[0].document[2] = 3; },
     "rank 0, document 3, token 0: there are 3 documents"},
    {"a slice without tokens", Sharding::kPerDocument, 0,
     [](Ranks& r) {
       r[0].end[1] = 0;
       --r[0].tokens;
     },
     "rank 0, document 1, token 0: the slice ends at token 0, so it has no tokens"},
    {"a slice that ends before it begins", Sharding::kPerDocument, 0,
     [](Ranks& r) { std::swap(r[1].begin[0], r[1].end[0]); },
     "rank 1, document 0, token 4: the slice ends at token 2"},
    {"documents out of order", Sharding::kPerDocument, 0,
     [](Ranks& r) { std::swap(r[0].document[1], r[0].document[2]); },
     "rank 0, document 1, token 0: not rank-major: follows document 2 in the front"},
    {"document-major layout", Sharding::kPerDocument, 0,
     [](Ranks& r) {
       r[1].document = {0, 0, 2, 2};
       r[1].begin = {2, 4, 1, 3};
       r[1].end = {4, 6, 3, 4};
     },
     "rank 1, document 0, token 4: not rank-major: follows document 0 in the front"},
    {"a back slice counted as front", Sharding::kPerDocument, 0,
     [](Ranks& r) { ++r[1].front_slices; },
     "rank 1, document 0, token 4: not rank-major: follows document 2 in the front"},
    {"more front slices than slices", Sharding::kPerDocument, 0,
     [](Ranks& r) { r[1].front_slices = 5; }, "rank 1: front_slices 5 of 4 slices"},
    {"columns of unequal size", Sharding::kPerDocument, 0,
     [](Ranks& r) { r[1].end.pop_back(); }, "rank 1: columns of 4, 4 and 3 slices"},
    {"a wrong sum of tokens", Sharding::kPerDocument, 0,
     [](Ranks& r) { ++r[1].tokens; }, "rank 1: tokens 8, but its slices have 7"},
    {"padding where there is none", Sharding::kPerDocument, 0,
     [](Ranks& r) { r[1].padding = 4; },
     "rank 1: padding 4 beside 7 tokens, an even share of 0 in 14"},
    {"ranks swapped", Sharding::kPerDocument, 0,
     [](Ranks& r) { std::swap(r[0], r[1]); },
     "rank 0, document 0, token 2: the slice begins here, but token 0 is in no"},
    {"a rank is missing", Sharding::kPerDocument, 0, [](Ranks& r) { r.pop_back(); },
     "slices of 1 ranks; accepted: 2"},
    {"an uneven cut of a document", Sharding::kPerDocument, 0,
     [](Ranks& r) {
       r[0].end[0] = 3;
       ++r[0].tokens;
       r[1].begin[0] = 3;
       --r[1].tokens;
     },
     "rank 0, document 0, token 0: the slice has 3 tokens, an even cut 1 to 2"},
    // Document 2's extra token on slot 0 rather than 1: 0-2, 2-3, 3-4, 4-5.
    {"the cursor did not carry on", Sharding::kPerDocument, 0,
     [](Ranks& r) {
       r[0].end[2] = 2;
       ++r[0].tokens;
       r[1].begin[1] = 2;
       --r[1].tokens;
     },
     "rank 0: slot 0 has 5 tokens, an even share of 14 is 3 to 4"},
    {"a slot moved on in the sequence", Sharding::kPerSequence, 0,
     [](Ranks& r) {
       r[0].end[0] = 5;
       ++r[0].tokens;
       r[1].begin[0] = 5;
       --r[1].tokens;
     },
     "rank 0: slot 0 has 5 tokens, an even share of 14 is 3 to 4"},
    {"a slice of the sequence is lost", Sharding::kPerSequence, 0,
     [](Ranks& r) { Erase(r[1], 0); },
     "rank 1, document 1, token 0: is token 7 of the sequence, of which the slots so "
     "far cover 4"},
    {"padding of a rank is short", Sharding::kPerDocument, 1,
     [](Ranks& r) { --r[1].padding; },
     "rank 1: 8 tokens and padding 1, the padded share of a rank is 10"},
    {"a padded document is cut unevenly", Sharding::kPerDocument, 1,
     [](Ranks& r) {
       r[0].end[0] = 1;
       --r[0].tokens;
     },
     "rank 0, document 0, token 0: the slice ends at token 1, but slot 0 of the "
     "padded document is 0 to 2"},
    {"a padded sequence is cut early", Sharding::kPerSequence, 1,
     [](Ranks& r) {
       r[0].end[0] = 3;
       --r[0].tokens;
       ++r[0].padding;
       r[1].begin[0] = 3;
       ++r[1].tokens;
       --r[1].padding;
     },
     "rank 0: slot 0 has 3 tokens, its part of the padded sequence 4"},
    {"padding of a sequence is long", Sharding::kPerSequence, 1,
     [](Ranks& r) { ++r[0].padding; },
     "rank 0: 6 tokens and padding 3, the padded share of a rank is 8"},
    {"contiguous runs swapped", Sharding::kContiguous, 1,
     [](Ranks& r) { std::swap(r[0], r[1]); },
     "rank 0, document 1, token 1: the slice begins here, but token 0 is in no"},
    {"the end of a contiguous run is another's", Sharding::kContiguous, 0,
     [](Ranks& r) {
       Erase(r[0], 1);
       r[1].document.insert(r[1].document.begin(), 0);
       r[1].begin.insert(r[1].begin.begin(), 4);
       r[1].end.insert(r[1].end.begin(), 7);
       r[1].tokens += 3;
       ++r[1].front_slices;
     },
     "rank 0: slot 1 has 0 tokens, an even share of 14 is 3 to 4"},
};

TEST(ValidateSlicesTest, RefusesEveryKindOfDamage) {
  for (const SliceDamage& row : kSliceDamages) {
    Ranks ranks = ExpandAllRanks(PlanOf(row.sharding, kLengths, 2, row.pad_to));
    ASSERT_EQ(ValidateSlices(kLengths, row.sharding, 2, row.pad_to, ranks),
              absl::OkStatus());
    row.damage(ranks);
    const absl::Status status =
        ValidateSlices(kLengths, row.sharding, 2, row.pad_to, ranks);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << row.name;
    EXPECT_THAT(std::string(status.message()), HasSubstr(row.message)) << row.name;
  }
}

// Rank totals may be uneven where all slot totals are even: 10 tokens over CP = 2 have
// two slots with one more, here both of rank 0.
TEST(ValidateSlicesTest, RefusesUnevenRanksOfEvenSlots) {
  Ranks ranks(2);
  ranks[0] = {{0, 0}, {0, 7}, {3, 10}, 1, 6, 0};
  ranks[1] = {{0, 0}, {3, 5}, {5, 7}, 1, 4, 0};
  const absl::Status status =
      ValidateSlices(std::vector<uint32_t>{10}, Sharding::kPerSequence, 2, 0, ranks);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("rank 0: has 6 tokens, an even share of 10 is 5 to 5"));
}

// Every slice of document 0 has 1 or 2 tokens, as an even cut of 6 tokens in 4 slots
// has, but slot 3 has none.
TEST(ValidateSlicesTest, RefusesADocumentCutInFewerSlots) {
  const std::vector<uint32_t> lengths = {6, 2};
  Ranks ranks(2);
  ranks[0] = {{0, 1}, {0, 1}, {2, 2}, 1, 3, 0};
  ranks[1] = {{0, 0, 1}, {2, 4, 0}, {4, 6, 1}, 1, 5, 0};
  const absl::Status status =
      ValidateSlices(lengths, Sharding::kPerDocument, 2, 0, ranks);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr("document 0, token 0: is cut in 3 slices, an even cut makes 4"));
}

TEST(ValidateSlicesTest, RefusesBadArguments) {
  EXPECT_EQ(ValidateSlices({}, Sharding::kPerDocument, 0, 0, {}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ValidateSlices({}, Sharding::kAdaptive, 1, 0, Ranks(1)).code(),
            absl::StatusCode::kInvalidArgument);
}

struct PlanDamage {
  const char* name;
  Sharding sharding;
  uint32_t pad_to;
  std::function<void(ShardPlan&)> damage;
  std::string message;
};

const PlanDamage kPlanDamages[] = {
    {"adaptive", Sharding::kPerDocument, 0,
     [](ShardPlan& p) { p.sharding = Sharding::kAdaptive; },
     "sharding 2; accepted: 0 (per_sequence), 1 (per_document), 3 (contiguous) or 4 "
     "(hybrid)"},
    {"the other sharding", Sharding::kPerDocument, 0,
     [](ShardPlan& p) { p.sharding = Sharding::kPerSequence; },
     "slot_starts has 0 entries; accepted: 5"},
    {"no ranks", Sharding::kPerDocument, 0,
     [](ShardPlan& p) { p.context_parallel = 0; },
     "context_parallel 0; accepted: 1 to 1024"},
    {"too many ranks", Sharding::kPerSequence, 0,
     [](ShardPlan& p) { p.context_parallel = 2147483649; },
     "context_parallel 2147483649; accepted: 1 to 1024"},
    {"another number of ranks", Sharding::kPerSequence, 0,
     [](ShardPlan& p) { p.context_parallel = 3; },
     "slot_starts has 5 entries; accepted: 7"},
    {"another number of ranks, by document", Sharding::kPerDocument, 0,
     [](ShardPlan& p) { p.context_parallel = 3; },
     "document 0: is cut as 9 tokens, has 7"},
    {"a multiple that the slots do not divide", Sharding::kPerDocument, 1,
     [](ShardPlan& p) { p.pad_multiple = 6; },
     "pad_multiple 6; accepted: a multiple of 4 up to 2147483647"},
    {"another multiple", Sharding::kPerDocument, 1,
     [](ShardPlan& p) { p.pad_multiple = 8; }, "padded_tokens 20; accepted: 24"},
    {"fewer tokens with padding than without", Sharding::kPerDocument, 0,
     [](ShardPlan& p) { --p.padded_tokens; },
     "padded_tokens 13; accepted: 14, or a multiple of 1 above that, up to 2147483647"},
    {"padding at the end that is no multiple", Sharding::kPerSequence, 1,
     [](ShardPlan& p) { p.padded_tokens += 2; },
     "padded_tokens 18; accepted: 16, or a multiple of 4 above that, up to"},
    {"padding at the end that no slot has", Sharding::kPerSequence, 1,
     [](ShardPlan& p) { p.padded_tokens += 4; },
     "rank 0: slot 0 has 4 tokens, its part of the padded sequence 5"},
    {"padding at the end that no document has", Sharding::kPerDocument, 1,
     [](ShardPlan& p) { p.padded_tokens += 4; },
     "document 2: is cut as 8 tokens, has 5 before padding to 4"},
    {"padding at the end of another document", Sharding::kPerDocument, 1,
     [](ShardPlan& p) {
       p.padded_tokens += 4;
       ++p.slot_tokens[0];
     },
     "document 0: is cut as 12 tokens, has 7 before padding to 4"},
    {"no document starts", Sharding::kPerDocument, 0,
     [](ShardPlan& p) { p.document_starts.clear(); },
     "document_starts does not begin with 0"},
    {"document starts from 1", Sharding::kPerDocument, 0,
     [](ShardPlan& p) { p.document_starts[0] = 1; },
     "document_starts does not begin with 0"},
    {"document starts that fall", Sharding::kPerDocument, 0,
     [](ShardPlan& p) { p.document_starts[1] = 10; },
     "document 1: starts at 10, the next at 9; accepted: lengths of 1 to 2147483647"},
    {"a document too long", Sharding::kPerSequence, 0,
     [](ShardPlan& p) { p.document_starts[3] += 2147483647; },
     "document 2: starts at 9, the next at 2147483661"},
    {"another length", Sharding::kPerDocument, 0,
     [](ShardPlan& p) { --p.document_starts[1]; },
     "document 0: is cut as 7 tokens, has 6"},
    {"a column is short", Sharding::kPerDocument, 0,
     [](ShardPlan& p) { p.slot_tokens.pop_back(); },
     "slot_tokens has 2 entries; accepted: 3"},
    {"a column of left-overs is short", Sharding::kPerDocument, 0,
     [](ShardPlan& p) { p.left_over.pop_back(); },
     "left_over has 2 entries; accepted: 3"},
    {"a column is long", Sharding::kPerDocument, 0,
     [](ShardPlan& p) { p.cursor.push_back(0); }, "cursor has 4 entries; accepted: 3"},
    {"a column of the other sharding", Sharding::kPerSequence, 0,
     [](ShardPlan& p) { p.cursor.push_back(0); }, "cursor has 1 entries; accepted: 0"},
    {"more tokens per slot", Sharding::kPerDocument, 0,
     [](ShardPlan& p) { ++p.slot_tokens[2]; }, "document 2: is cut as 9 tokens, has 5"},
    {"fewer left over", Sharding::kPerDocument, 0,
     [](ShardPlan& p) { --p.left_over[1]; }, "document 1: is cut as 1 tokens, has 2"},
    {"left over as many as slots", Sharding::kPerDocument, 0,
     [](ShardPlan& p) {
       p.slot_tokens[2] = 0;
       p.left_over[2] = 5;
     },
     "document 2: left_over 5; accepted: 1"},
    {"the cursor did not carry on", Sharding::kPerDocument, 0,
     [](ShardPlan& p) { p.cursor[2] = 0; }, "document 2: cursor 0; accepted: 1"},
    {"the cursor is beyond the slots", Sharding::kPerDocument, 0,
     [](ShardPlan& p) { p.cursor[0] = 4; }, "document 0: cursor 4; accepted: 0"},
    {"a padded slot too small", Sharding::kPerDocument, 1,
     [](ShardPlan& p) { --p.slot_tokens[0]; },
     "document 0: is cut as 4 tokens, has 7 before padding to 4"},
    {"a padded slot too large", Sharding::kPerDocument, 1,
     [](ShardPlan& p) { ++p.slot_tokens[0]; },
     "document 0: is cut as 12 tokens, has 7 before padding to 4"},
    {"left over in spite of padding", Sharding::kPerDocument, 1,
     [](ShardPlan& p) { p.left_over[0] = 1; }, "document 0: left_over 1; accepted: 0"},
    {"a cursor in spite of padding", Sharding::kPerDocument, 1,
     [](ShardPlan& p) { p.cursor[1] = 3; }, "document 1: cursor 3; accepted: 0"},
    {"slots from 1", Sharding::kPerSequence, 0,
     [](ShardPlan& p) { p.slot_starts[0] = 1; },
     "slot_starts runs from 1 to 14; accepted: 0 to 14"},
    {"slots beyond the tokens", Sharding::kPerSequence, 0,
     [](ShardPlan& p) { p.slot_starts[4] = 15; },
     "slot_starts runs from 0 to 15; accepted: 0 to 14"},
    {"slots that fall", Sharding::kPerSequence, 0,
     [](ShardPlan& p) { p.slot_starts[1] = 9; },
     "slot 1: starts at 9, the next at 8; accepted: starts that do not fall"},
    {"uneven slots", Sharding::kPerSequence, 0,
     [](ShardPlan& p) { ++p.slot_starts[1]; },
     "rank 0: slot 0 has 5 tokens, an even share of 14 is 3 to 4"},
    {"contiguous, cut as a sequence", Sharding::kPerSequence, 0,
     [](ShardPlan& p) { p.sharding = Sharding::kContiguous; },
     "rank 0: has 8 tokens, an even share of 14 is 7 to 7"},
    {"uneven slots with padding", Sharding::kPerSequence, 1,
     [](ShardPlan& p) { --p.slot_starts[1]; },
     "rank 0: slot 0 has 3 tokens, its part of the padded sequence 4"},
};

TEST(ValidatePlanTest, RefusesEveryKindOfDamage) {
  for (const PlanDamage& row : kPlanDamages) {
    ShardPlan plan = PlanOf(row.sharding, kLengths, 2, row.pad_to);
    ASSERT_EQ(Validate(plan), absl::OkStatus());
    row.damage(plan);
    const absl::Status status = Validate(plan);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << row.name;
    EXPECT_THAT(std::string(status.message()), HasSubstr(row.message)) << row.name;
  }
}

TEST(ValidatePlanTest, RefusesAPlanOfOtherLengths) {
  for (const Sharding sharding : kPlannedShardings) {
    const ShardPlan plan = PlanOf(sharding, {7, 2, 5}, 2);
    const absl::Status other = Validate(plan, std::vector<uint32_t>{7, 3, 4});
    EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(
        std::string(other.message()),
        HasSubstr("document 1: has 2 tokens in the plan, 3 in the micro-batch"));
    const absl::Status fewer = Validate(plan, std::vector<uint32_t>{7, 7});
    EXPECT_EQ(fewer.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(fewer.message()), HasSubstr("is of 3 documents, not of 2"));
  }
}

}  // namespace
}  // namespace evenpack
