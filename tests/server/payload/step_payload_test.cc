#include "server/payload/step_payload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "server/core/sharding/per_document.h"
#include "tests/testing/made_tokens.h"
#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

using testing::Draw;
using testing::MadeTokens;

StepPayload PayloadOf(const std::vector<uint32_t>& lengths) {
  const auto batch =
      std::make_shared<const TokenBatch>(0, lengths, MadeTokens(0, 0, lengths));
  std::vector<PieceTokens> pieces;
  for (size_t i = 0; i < lengths.size(); ++i) {
    pieces.push_back({batch, batch->TokensOf(i)});
  }
  return StepPayload({pieces, {}});
}

TEST(StepPayloadTest, AMicroBatchHasItsDocumentsOneAfterAnother) {
  const std::vector<uint32_t> lengths = {3, 1, 20};
  const StepPayload payload = PayloadOf(lengths);
  EXPECT_EQ(payload.Whole(0), MadeTokens(0, 0, lengths));
  EXPECT_EQ(payload.Whole(1), "");
}

TEST(StepPayloadTest, RanksHaveEachTokenOnceInTheOrderOfTheirSlices) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<uint32_t> lengths(Draw(random, 1, 12));
    for (uint32_t& length : lengths) length = Draw(random, 1, 90);
    const StepPayload payload = PayloadOf(lengths);
    const ShardPlan plan = PlanPerDocument(lengths, Draw(random, 1, 5), 0).value();
    std::map<std::string, int> seen;
    for (uint32_t rank = 0; rank < plan.context_parallel; ++rank) {
      const RankSlices slices = ExpandRank(plan, rank);
      std::string expected;
      for (size_t i = 0; i < slices.size(); ++i) {
        expected += MadeTokens(0, slices.document[i], slices.begin[i], slices.end[i]);
      }
      const std::string part = payload.Of(0, slices);
      EXPECT_EQ(part, expected);
      for (size_t at = 0; at < part.size(); at += kTokenBytes) {
        ++seen[part.substr(at, kTokenBytes)];
      }
    }
    EXPECT_EQ(seen.size(), plan.tokens());
    for (const auto& [token, times] : seen) EXPECT_EQ(times, 1);
  }
}

}  // namespace
}  // namespace evenpack
