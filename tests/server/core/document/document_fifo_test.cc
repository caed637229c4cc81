#include "server/core/document/document_fifo.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

using testing::Draw;
using testing::MakeDocuments;

TEST(DocumentFifoTest, StartsEmpty) {
  const DocumentFifo fifo;
  EXPECT_TRUE(fifo.empty());
  EXPECT_EQ(fifo.tokens(), 0U);
}

TEST(DocumentFifoTest, GivesBackInOrder) {
  DocumentFifo fifo;
  fifo.PushBack(MakeDocuments({5, 6, 7}));
  EXPECT_EQ(fifo.tokens(), 18U);
  EXPECT_EQ(fifo.front().length, 5U);
  EXPECT_EQ(testing::LengthsOf(fifo.PopFront(2)), (std::vector<uint32_t>{5, 6}));
  EXPECT_EQ(fifo.size(), 1U);
  EXPECT_EQ(fifo.tokens(), 7U);
}

TEST(DocumentFifoTest, EqualityIgnoresWhatWasPopped) {
  DocumentFifo popped;
  popped.PushBack(MakeDocuments({1, 2, 3, 4, 5}));
  popped.PopFront(1);
  DocumentFifo fresh;
  fresh.PushBack(std::vector<Document>(popped.view().begin(), popped.view().end()));
  EXPECT_EQ(popped, fresh);
  fresh.DropBack(1);
  EXPECT_FALSE(popped == fresh);
}

TEST(DocumentFifoTest, BehavesAsADequeUnderRandomUse) {
  std::mt19937_64 random(1);
  DocumentFifo fifo;
  std::deque<Document> model;
  uint32_t next = 1;
  for (int round = 0; round < 5000; ++round) {
    std::vector<uint32_t> lengths(Draw(random, 0, 5));
    for (uint32_t& length : lengths) length = next++;
    const std::vector<Document> documents = MakeDocuments(lengths);
    const size_t count = Draw(random, 0, 6) % (model.size() + 1);
    switch (Draw(random, 0, 3)) {
      case 0:
        fifo.PushBack(documents);
        model.insert(model.end(), documents.begin(), documents.end());
        break;
      case 1:
        fifo.PushFront(documents);
        model.insert(model.begin(), documents.begin(), documents.end());
        break;
      case 2:
        ASSERT_EQ(fifo.PopFront(count),
                  std::vector<Document>(model.begin(),
                                        model.begin() + static_cast<ptrdiff_t>(count)));
        model.erase(model.begin(), model.begin() + static_cast<ptrdiff_t>(count));
        break;
      default:
        fifo.DropBack(count);
        model.resize(model.size() - count);
        break;
    }
    uint64_t tokens = 0;
    for (const Document& document : model) tokens += document.length;
    ASSERT_EQ(fifo.tokens(), tokens);
    ASSERT_TRUE(
        std::equal(fifo.view().begin(), fifo.view().end(), model.begin(), model.end()));
  }
}

}  // namespace
}  // namespace evenpack
