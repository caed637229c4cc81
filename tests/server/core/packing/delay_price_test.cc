#include "server/core/packing/delay_price.h"

#include <gtest/gtest.h>

namespace evenpack {
namespace {

TEST(DelayPriceTest, RisesWithEachBatchThatADocumentWaited) {
  const DelayPrice price = {.token_ps = 2500, .batch = 9};
  Document document;
  document.length = 1000;
  for (const auto& [batch, ns] : {std::pair{9, 2500}, {8, 5000}, {0, 25000}}) {
    document.batch = static_cast<uint64_t>(batch);
    EXPECT_EQ(price.Of(document), ns) << batch;
  }
  EXPECT_EQ(price.OfTokens(1000), 2500);
}

TEST(DelayPriceTest, DocumentsOfALaterBatchCountAsNew) {
  const DelayPrice price = {.token_ps = 1000, .batch = 3};
  Document document;
  document.length = 7;
  document.batch = 4;
  EXPECT_EQ(price.Of(document), 7);
}

TEST(DelayPriceTest, NothingOverflows) {
  const DelayPrice price = {.token_ps = int64_t{1} << 53, .batch = uint64_t{1} << 40};
  Document document;
  document.length = kMaxDocumentLength;
  EXPECT_GT(price.Of(document), absl::int128(int64_t{1} << 62));
}

}  // namespace
}  // namespace evenpack
