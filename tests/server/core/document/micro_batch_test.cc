#include "server/core/document/micro_batch.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

MicroBatch ExampleMicroBatch() {
  MicroBatch micro_batch;
  micro_batch.documents = testing::MakeDocuments({3, 4});
  micro_batch.tokens = 7;
  return micro_batch;
}

TEST(MicroBatchTest, Sums) {
  MicroBatch micro_batch = ExampleMicroBatch();
  micro_batch.documents[0].loss_tokens = 1;
  EXPECT_EQ(SumOfSquaredLengths(micro_batch), 25U);
  EXPECT_EQ(LossTokens(micro_batch), 5U);
  EXPECT_EQ(SumOfSquaredLengths({}), 0U);
}

TEST(MicroBatchTest, TheDigestIsOfTheDocumentedWords) {
  DigestBuilder builder;
  builder.Word(2);
  builder.Word(uint64_t{3} << 32);  // stream 0, length 3
  builder.Word(0);                  // sequence
  builder.Word(0);                  // offset
  builder.Word(uint64_t{4} << 32);
  builder.Word(1);
  builder.Word(0);
  builder.Word(7);
  builder.Word(0);
  EXPECT_EQ(MicroBatchDigest(ExampleMicroBatch()), builder.Finish());
}

TEST(MicroBatchTest, TheDigestCoversWhatMakesTheSequence) {
  const std::vector<std::function<void(MicroBatch&)>> changes = {
      [](MicroBatch& m) { m.documents[1].stream = 1; },
      [](MicroBatch& m) { m.documents[1].sequence = 9; },
      [](MicroBatch& m) { m.documents[1].offset = 1; },
      [](MicroBatch& m) { m.documents[1].length = 5; },
      [](MicroBatch& m) { m.tokens = 8; },
      [](MicroBatch& m) { m.padding = 1; },
      [](MicroBatch& m) { m.documents.pop_back(); },
      [](MicroBatch& m) { std::swap(m.documents[0], m.documents[1]); },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    MicroBatch changed = ExampleMicroBatch();
    changes[i](changed);
    EXPECT_NE(MicroBatchDigest(changed), MicroBatchDigest(ExampleMicroBatch())) << i;
  }
}

}  // namespace
}  // namespace evenpack
