#include "client/cli/document_stream.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace evenpack {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

std::vector<uint32_t> Counting(uint32_t count) {
  std::vector<uint32_t> lengths(count);
  std::iota(lengths.begin(), lengths.end(), 1U);
  return lengths;
}

std::vector<std::vector<uint32_t>> ReadPasses(std::span<const uint32_t> lengths,
                                              uint64_t passes, uint64_t seed) {
  DocumentStream stream(lengths, passes, seed);
  std::vector<std::vector<uint32_t>> read(passes);
  while (!stream.AtEnd()) {
    const uint64_t pass = stream.position() / lengths.size();
    read[pass].push_back(stream.Next());
  }
  return read;
}

TEST(DocumentStreamTest, FirstPassIsInOrderAndLaterOnesArePermutations) {
  const std::vector<uint32_t> lengths = Counting(1000);
  const auto passes = ReadPasses(lengths, 3, 7);
  EXPECT_THAT(passes[0], ElementsAreArray(lengths));
  for (size_t pass = 1; pass < passes.size(); ++pass) {
    EXPECT_NE(passes[pass], lengths);
    std::vector<uint32_t> sorted = passes[pass];
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, lengths);
  }
  EXPECT_NE(passes[1], passes[2]);
}

TEST(DocumentStreamTest, OrderIsAFunctionOfSeedAndPass) {
  const std::vector<uint32_t> lengths = Counting(50);
  EXPECT_EQ(ReadPasses(lengths, 3, 7), ReadPasses(lengths, 3, 7));
  EXPECT_NE(ReadPasses(lengths, 2, 7)[1], ReadPasses(lengths, 2, 8)[1]);
  // Both halves of the seed count.
  EXPECT_NE(ReadPasses(lengths, 2, 7)[1], ReadPasses(lengths, 2, (1ULL << 32) + 7)[1]);
  EXPECT_EQ(ReadPasses(lengths, 3, 7)[1], ReadPasses(lengths, 2, 7)[1]);
}

TEST(DocumentStreamTest, ShuffleIsTheOneThatIsDocumented) {
  std::vector<uint32_t> expected = Counting(10);
  std::seed_seq seeds{7U, 1U, 1U};
  std::mt19937_64 generator(seeds);
  for (size_t i = 9; i > 0; --i) {
    // With a bound this small a draw is rejected with a probability below 2^-60.
    std::swap(expected[i], expected[generator() % (i + 1)]);
  }
  EXPECT_THAT(ReadPasses(Counting(10), 2, (1ULL << 32) + 7)[1],
              ElementsAreArray(expected));
}

TEST(DocumentStreamTest, CountsDocumentsOfAllPasses) {
  const std::vector<uint32_t> lengths = {9};
  DocumentStream stream(lengths, 3, 0);
  EXPECT_EQ(stream.total(), 3U);
  EXPECT_THAT((std::vector{stream.Next(), stream.Next(), stream.Next()}),
              ElementsAre(9, 9, 9));
  EXPECT_TRUE(stream.AtEnd());
}

TEST(DocumentStreamTest, EndsAfterTheMostDocuments) {
  const std::vector<uint32_t> lengths = Counting(4);
  for (const uint64_t most : {uint64_t{0}, uint64_t{3}, uint64_t{6}, uint64_t{99}}) {
    DocumentStream stream(lengths, 2, 1, most);
    EXPECT_EQ(stream.total(), std::min<uint64_t>(most, 8));
    while (!stream.AtEnd()) stream.Next();
    EXPECT_EQ(stream.position(), stream.total());
  }
}

TEST(DrawBelowTest, StaysBelowTheBoundAndReachesEveryNumber) {
  std::mt19937_64 generator(1);
  EXPECT_EQ(DrawBelow(1, generator), 0U);
  std::vector<int> counts(3);
  for (int i = 0; i < 3000; ++i) ++counts[DrawBelow(3, generator)];
  for (const int count : counts) EXPECT_NEAR(count, 1000, 150);
  // Rejects almost half of its draws.
  const uint64_t bound = (uint64_t{1} << 63) + 1;
  for (int i = 0; i < 1000; ++i) EXPECT_LT(DrawBelow(bound, generator), bound);
}

}  // namespace
}  // namespace evenpack
