#include "client/cpp/wire_digest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/core/digest/digest_bytes.h"
#include "server/core/document/step.h"
#include "tests/client/cpp/test_history.h"

namespace evenpack::client {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

constexpr Digest128 kDigest{0x0706050403020100, 0x0f0e0d0c0b0a0908};

TEST(WireDigest, OneAfterAnotherAreReadBack) {
  const Digest128 digest = GenesisDigest();
  EXPECT_THAT(ReadDigests(DigestBytes(digest) + DigestBytes(kDigest)),
              Optional(ElementsAre(digest, kDigest)));
  EXPECT_THAT(ReadDigests(""), Optional(ElementsAre()));
  EXPECT_EQ(ReadDigests(DigestBytes(kDigest) + "x"), std::nullopt);
}

TEST(WireDigest, AStepsDigestFromThoseOfItsMicroBatchesIsTheEngines) {
  Step step;
  step.index = 17;
  std::vector<Digest128> digests;
  for (uint32_t i = 0; i < 3; ++i) {
    const std::vector<uint32_t> lengths(i, 5 + i);
    const ShardPlan plan = testing::MakePlan(Sharding::kPerSequence, lengths, 2);
    step.micro_batches.push_back(testing::MakeMicroBatch(lengths, plan, 10 * i));
    digests.push_back(MicroBatchDigest(step.micro_batches.back()));
  }
  AddDigests(step);
  EXPECT_EQ(StepDigestOf(kDigest, 17, digests), StepDigest(kDigest, step));
}

}  // namespace
}  // namespace evenpack::client
