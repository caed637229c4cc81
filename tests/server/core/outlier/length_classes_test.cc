#include "server/core/outlier/length_classes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "server/core/outlier/queue_thresholds.h"
#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

constexpr uint32_t kWindow = 131072;
constexpr ClassTerms kTerms = {
    .micro_batches = 4, .window = kWindow, .delay_price_ppm = 40'000};

WorkloadTable Workload() { return testing::QuadraticWorkload(47'000, kWindow); }

LengthSketch SketchOf(const std::vector<uint32_t>& lengths) {
  LengthSketch sketch;
  for (const uint32_t length : lengths) sketch.Add(length);
  return sketch;
}

TEST(LengthClassesTest, ATokensWorkloadIsThatOfTheStream) {
  const std::vector<uint32_t> lengths = testing::SkewedLengths(5, 20'000, kWindow);
  const WorkloadTable workload = Workload();
  double tokens = 0;
  double ns = 0;
  for (const uint32_t length : lengths) {
    tokens += length;
    ns += static_cast<double>(workload.AttentionNs(length) + workload.LinearNs(length));
  }
  const auto measured = static_cast<double>(TokenPs(SketchOf(lengths), workload));
  EXPECT_NEAR(measured / (1000 * ns / tokens), 1, 0.05);
  EXPECT_EQ(TokenPs({}, workload), 1);
}

TEST(LengthClassesTest, NothingWaitsWhereAllAreAlike) {
  EXPECT_TRUE(ChooseClasses({}, kTerms, Workload()).empty());
  EXPECT_TRUE(
      ChooseClasses(SketchOf(std::vector<uint32_t>(1000, 4096)), kTerms, Workload())
          .empty());
}

TEST(LengthClassesTest, OutliersWaitAndWhatAMeanMicroBatchHoldsDoesNot) {
  std::vector<uint32_t> lengths(5000, 3000);
  lengths.insert(lengths.end(), 40, 100'000);
  const std::vector<uint32_t> classes =
      ChooseClasses(SketchOf(lengths), kTerms, Workload());
  ASSERT_EQ(classes.size(), 1U);
  EXPECT_GT(classes[0], 3000U);
  EXPECT_LE(classes[0], 100'000U);
}

TEST(LengthClassesTest, ThresholdsAreThoseThatAJobMayHave) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto classes = ChooseClasses(
        SketchOf(testing::SkewedLengths(seed, 20'000, kWindow)), kTerms, Workload());
    EXPECT_TRUE(ValidateQueueThresholds(classes).ok());
    EXPECT_FALSE(classes.empty());
  }
}

TEST(LengthClassesTest, ADearerDelayKeepsFewerWaiting) {
  const LengthSketch sketch = SketchOf(testing::SkewedLengths(3, 20'000, kWindow));
  size_t before = 100;
  for (const uint32_t price : {1'000U, 20'000U, 1'000'000U}) {
    ClassTerms terms = kTerms;
    terms.delay_price_ppm = price;
    const std::vector<uint32_t> classes = ChooseClasses(sketch, terms, Workload());
    EXPECT_LE(classes.size(), before) << price;
    before = classes.size();
  }
}

}  // namespace
}  // namespace evenpack
