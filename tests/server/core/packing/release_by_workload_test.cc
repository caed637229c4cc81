#include "server/core/packing/release_by_workload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "server/core/cost/cost_spec.h"
#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

using Lengths = std::vector<uint32_t>;

constexpr uint32_t kLongest = 131072;

WorkloadTable Workload() {
  return testing::QuadraticWorkload(47'000, 3 * kLongest / 2);
}

ReleaseTerms Terms(size_t micro_batches) {
  ReleaseTerms terms;
  terms.micro_batches = micro_batches;
  terms.capacity = {.tokens = 3 * kLongest / 2};
  terms.most_tokens = uint64_t{micro_batches} * terms.capacity.tokens;
  // A fiftieth of a token's linear work.
  terms.price.token_ps = 20'000;
  terms.placed_one_by_one = 1000;
  return terms;
}

// Longest first, of the given lengths and, behind them, so many of 2,000 tokens.
std::vector<Document> WithShort(Lengths lengths, size_t count) {
  lengths.insert(lengths.end(), count, 2000);
  return testing::MakeDocuments(lengths);
}

Lengths LongOf(const WorkList& documents) {
  Lengths lengths;
  for (const Document* document : documents) {
    if (document->length > 2000) lengths.push_back(document->length);
  }
  return lengths;
}

TEST(ReleaseByWorkloadTest, ALoneOutlierWaitsForItsLike) {
  const std::vector<Document> documents = WithShort({120'000}, 248);
  const Release release =
      ReleaseByWorkload({}, PointTo(documents), Terms(4), Workload());
  EXPECT_EQ(LongOf(release.held), Lengths{120'000});
  EXPECT_EQ(release.goes.size(), 248U);
  EXPECT_EQ(release.tokens, 496'000U);
  EXPECT_LT(release.excess_ns * 100, release.workload_ns);
}

TEST(ReleaseByWorkloadTest, OutliersOfALikeGoTogether) {
  const std::vector<Document> documents =
      WithShort({120'000, 119'000, 118'000, 117'000, 90'000}, 150);
  const Release release =
      ReleaseByWorkload({}, PointTo(documents), Terms(4), Workload());
  const Lengths goes = LongOf(release.goes);
  EXPECT_EQ(Lengths(goes.begin(), goes.begin() + 4),
            (Lengths{120'000, 119'000, 118'000, 117'000}));
}

TEST(ReleaseByWorkloadTest, ADocumentThatWaitedLongEnoughGoesAlone) {
  std::vector<Document> documents = WithShort({120'000}, 248);
  ReleaseTerms terms = Terms(4);
  terms.price.batch = 10'000;
  for (Document& document : documents) document.batch = 10'000;
  EXPECT_EQ(ReleaseByWorkload({}, PointTo(documents), terms, Workload()).held.size(),
            1U);
  documents[0].batch = 0;
  EXPECT_TRUE(
      ReleaseByWorkload({}, PointTo(documents), terms, Workload()).held.empty());
}

TEST(ReleaseByWorkloadTest, AnOutlierThatNothingFollowsGoesBesideOthers) {
  ReleaseTerms terms = Terms(4);
  terms.nothing_follows = true;
  const std::vector<Document> documents = WithShort({120'000}, 248);
  const Release release = ReleaseByWorkload({}, PointTo(documents), terms, Workload());
  EXPECT_TRUE(release.held.empty());
}

TEST(ReleaseByWorkloadTest, OfWhatIsTooMuchForOneStepLikesGoTogether) {
  ReleaseTerms terms = Terms(4);
  terms.nothing_follows = true;
  const std::vector<Document> documents = WithShort(
      {120'000, 120'000, 120'000, 120'000, 75'000, 75'000, 75'000, 75'000}, 100);
  const Release first = ReleaseByWorkload({}, PointTo(documents), terms, Workload());
  const Release second = ReleaseByWorkload({}, first.held, terms, Workload());
  EXPECT_TRUE(second.held.empty());
  EXPECT_LT(first.excess_ns * 50, first.workload_ns);
  EXPECT_LT(second.excess_ns * 50, second.workload_ns);
}

TEST(ReleaseByWorkloadTest, WhatIsDueGoesAndTheRestIsChosenAroundIt) {
  const std::vector<Document> due = testing::MakeDocuments({120'000});
  // Beside it the others may be as heavy.
  const std::vector<Document> documents = WithShort({118'000, 117'000, 116'000}, 200);
  const Release release =
      ReleaseByWorkload(PointTo(due), PointTo(documents), Terms(4), Workload());
  EXPECT_EQ(LongOf(release.goes), (Lengths{118'000, 117'000, 116'000}));
  EXPECT_GE(release.tokens, 120'000U + 351'000U);
}

TEST(ReleaseByWorkloadTest, TokensStayWithinTheirBounds) {
  for (const size_t placed : {0U, 10U, 1000U}) {
    const std::vector<Document> documents = WithShort({70'000, 60'000}, 400);
    ReleaseTerms terms = Terms(4);
    terms.placed_one_by_one = placed;
    terms.most_tokens = 500'000;
    terms.least_tokens = 480'000;
    const Release release =
        ReleaseByWorkload({}, PointTo(documents), terms, Workload());
    EXPECT_GE(release.tokens, 480'000U) << placed;
    EXPECT_LE(release.tokens, 500'000U) << placed;
  }
}

TEST(ReleaseByWorkloadTest, WhatIsNotCountedGoesBeyondTheMost) {
  // Four that are the most, and short ones of batches 0 to 9.
  std::vector<Document> documents = WithShort({120'000, 120'000, 120'000, 120'000}, 10);
  ReleaseTerms terms = Terms(4);
  terms.most_tokens = 480'000;
  terms.price.batch = 10;
  terms.price.token_ps = 2'000'000;
  for (size_t i = 0; i < documents.size(); ++i) documents[i].batch = i < 4 ? 10 : i - 4;
  for (const size_t placed : {size_t{1000}, size_t{4}}) {
    terms.placed_one_by_one = placed;
    terms.counted_from = 0;
    EXPECT_EQ(ReleaseByWorkload({}, PointTo(documents), terms, Workload()).goes.size(),
              4U);
    terms.counted_from = 6;
    const Release release =
        ReleaseByWorkload({}, PointTo(documents), terms, Workload());
    EXPECT_EQ(release.goes.size(), 10U);
    for (const Document* document : release.held) EXPECT_GE(document->batch, 6U);
  }
}

TEST(ReleaseByWorkloadTest, OfTheShortOnesTheOldestGo) {
  std::vector<Document> documents = WithShort({}, 300);
  for (size_t i = 0; i < documents.size(); ++i) {
    documents[i].order = documents.size() - i;
  }
  ReleaseTerms terms = Terms(4);
  terms.placed_one_by_one = 0;
  terms.most_tokens = 200'000;
  const Release release = ReleaseByWorkload({}, PointTo(documents), terms, Workload());
  ASSERT_EQ(release.goes.size(), 100U);
  for (const Document* document : release.goes) EXPECT_LE(document->order, 100U);
}

TEST(ReleaseByWorkloadTest, AWrongCostModelMattersLessWhereItIsExpected) {
  // One of 100,000 tokens or two of 58,000 weigh about the same; with attention dearer
  // or cheaper they don't, and three more of 100,000 are worth waiting for.
  const std::vector<Document> documents =
      WithShort({100'000, 100'000, 67'000, 67'000, 67'000, 67'000}, 20);
  ReleaseTerms terms = Terms(4);
  terms.attention_error_64ths = 0;
  const Release trusting = ReleaseByWorkload({}, PointTo(documents), terms, Workload());
  terms.attention_error_64ths = 32;
  const Release wary = ReleaseByWorkload({}, PointTo(documents), terms, Workload());
  const auto wrong = [](const Release& release) {
    // Attention half as dear again, packed longest first.
    const WorkloadTable dearer =
        testing::QuadraticWorkload(47'000 * 2 / 3, 3 * kLongest / 2);
    std::vector<int64_t> loads(4, 0);
    for (const Document* document : release.goes) {
      auto lightest = std::min_element(loads.begin(), loads.end());
      *lightest +=
          dearer.AttentionNs(document->length) + dearer.LinearNs(document->length);
    }
    int64_t total = 0;
    for (const int64_t load : loads) total += load;
    return static_cast<double>(*std::max_element(loads.begin(), loads.end())) * 4 /
           static_cast<double>(total);
  };
  EXPECT_LE(wrong(wary), wrong(trusting));
}

TEST(ReleaseByWorkloadTest, DocumentsThatAreMostlyPaddingGoToo) {
  ReleaseTerms terms = Terms(3);
  terms.capacity = {.tokens = 144};
  terms.capacity.padding.document_unit = 24;
  terms.capacity.padding.total_unit = 24;
  for (const size_t count : {1U, 5U, 40U}) {
    const std::vector<Document> documents =
        testing::MakeDocuments(std::vector<uint32_t>(count, 1));
    const Release release =
        ReleaseByWorkload({}, PointTo(documents), terms, Workload());
    EXPECT_FALSE(release.goes.empty()) << count;
  }
}

// All that waits is far more than the 2^63 ns that a step is below.
TEST(ReleaseByWorkloadTest, TheUnitOfTimeDoesNotMatterWhereVeryMuchWaits) {
  constexpr uint32_t kMost = std::numeric_limits<int32_t>::max();
  constexpr size_t kMicroBatches = 46;
  Lengths lengths;
  for (uint32_t i = 0; i < 3000; ++i) lengths.push_back(kMost - i * 300'000);
  const std::vector<Document> documents = testing::MakeDocuments(lengths);
  for (const bool nothing_follows : {false, true}) {
    for (const size_t placed : {size_t{100}, lengths.size()}) {
      std::vector<Release> releases;
      for (const uint32_t unit : {1U, 1000U}) {
        ReleaseTerms terms = Terms(kMicroBatches);
        terms.capacity.tokens = kMost;
        terms.most_tokens = uint64_t{kMicroBatches} * kMost;
        terms.price.token_ps *= unit;
        terms.placed_one_by_one = placed;
        terms.nothing_follows = nothing_follows;
        const auto workload = ResolveWorkload(
            QuadraticCost{.crossover_tokens = 47'000, .ns_per_token = unit}, kMost,
            kMicroBatches);
        ASSERT_TRUE(workload.ok());
        releases.push_back(ReleaseByWorkload({}, PointTo(documents), terms, *workload));
      }
      EXPECT_FALSE(releases[0].goes.empty());
      EXPECT_EQ(LongOf(releases[0].goes), LongOf(releases[1].goes));
      EXPECT_EQ(LongOf(releases[0].held), LongOf(releases[1].held));
    }
  }
}

TEST(ReleaseByWorkloadTest, SomethingAlwaysGoesAndNothingIsLost) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    const size_t count = testing::Draw(random, 1, 80);
    std::vector<Document> documents = testing::LongestFirst(
        testing::MakeDocuments(testing::SkewedLengths(seed, count, kLongest)));
    for (Document& document : documents) document.batch = testing::Draw(random, 0, 9);
    ReleaseTerms terms = Terms(testing::Draw(random, 1, 9));
    for (const Capacity& capacity : testing::Capacities(kLongest)) {
      terms.capacity = capacity;
      terms.most_tokens =
          std::max<uint64_t>(PaddedLength(capacity.padding, documents[0].length),
                             testing::Draw(random, 1, 1'000'000));
      terms.least_tokens = testing::Draw(random, 0, 1'000'000);
      terms.placed_one_by_one = testing::Draw(random, 0, 90);
      terms.price.batch = 9;
      terms.price.token_ps = testing::Draw(random, 0, 1'000'000);
      terms.attention_error_64ths = testing::Draw(random, 0, 63);
      if (documents[0].length > capacity.tokens) continue;
      const Release release =
          ReleaseByWorkload({}, PointTo(documents), terms, Workload());
      EXPECT_FALSE(release.goes.empty()) << seed;
      EXPECT_TRUE(std::is_sorted(
          release.goes.begin(), release.goes.end(),
          [](const Document* a, const Document* b) { return a->length > b->length; }));
      std::vector<const Document*> all = release.goes;
      all.insert(all.end(), release.held.begin(), release.held.end());
      std::sort(all.begin(), all.end());
      ASSERT_EQ(all.size(), documents.size());
      for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], &documents[i]);
    }
  }
}

}  // namespace
}  // namespace evenpack
