#include "server/core/engine/resend_window.h"

#include <gtest/gtest.h>

#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

std::vector<Document> Numbered(size_t count) {
  return testing::MakeDocuments(testing::SkewedLengths(1, count, 1000));
}

ResendWindow After(const std::vector<Document>& documents) {
  ResendWindow window;
  window.Append(documents);
  return window;
}

TEST(ResendWindowTest, TheSameDocumentsAreRecognised) {
  for (const size_t count :
       {size_t{1}, size_t{100}, ResendWindow::kCapacity, ResendWindow::kCapacity + 1,
        ResendWindow::kCapacity * 3}) {
    const std::vector<Document> documents = Numbered(count);
    EXPECT_EQ(After(documents).FirstDifference(documents, count), count);
  }
}

TEST(ResendWindowTest, EachPartOfTheContentCounts) {
  const std::vector<Document> documents = Numbered(10);
  const ResendWindow window = After(documents);
  for (int field = 0; field < 4; ++field) {
    std::vector<Document> changed = documents;
    if (field == 0) ++changed[6].document_length;
    if (field == 1) --changed[6].loss_tokens;
    if (field == 2) ++changed[6].id;
    if (field == 3) ++changed[6].source;
    EXPECT_EQ(window.FirstDifference(changed, 10), 6U) << field;
  }
}

TEST(ResendWindowTest, ADifferenceIsFoundAtEveryPlaceOfAFullRing) {
  const size_t count = ResendWindow::kCapacity + 777;
  const std::vector<Document> documents = Numbered(count);
  const ResendWindow window = After(documents);
  for (size_t at = 777; at < count; at += 101) {
    std::vector<Document> changed = documents;
    ++changed[at].id;
    EXPECT_EQ(window.FirstDifference(changed, count), at);
  }
}

TEST(ResendWindowTest, WhatIsOlderThanTheWindowIsNotChecked) {
  const size_t count = ResendWindow::kCapacity + 10;
  std::vector<Document> documents = Numbered(count);
  const ResendWindow window = After(documents);
  ++documents[9].id;
  EXPECT_EQ(window.FirstDifference(documents, count), count);
}

TEST(ResendWindowTest, StoredAndRestoredItIsTheSame) {
  const size_t count = ResendWindow::kCapacity + 99;
  const std::vector<Document> documents = Numbered(count + 1);
  ResendWindow window = After({documents.begin(), documents.end() - 1});
  ResendWindow restored(window.Hashes());
  EXPECT_EQ(restored, window);
  restored.Append({&documents.back(), 1});
  window.Append({&documents.back(), 1});
  EXPECT_EQ(restored, window);
  EXPECT_EQ(restored.FirstDifference(documents, count + 1), count + 1);
}

}  // namespace
}  // namespace evenpack
