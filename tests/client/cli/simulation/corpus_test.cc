#include "client/cli/simulation/corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace evenpack {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<uint32_t> kLengths = {5, 11, 10, 25, 3};

TEST(CorpusTest, DropsWhatIsLongerThanTheWindow) {
  const Corpus corpus = FitToWindow(kLengths, 10, OverWindow::kDrop);
  EXPECT_THAT(corpus.lengths, ElementsAre(5, 10, 3));
  EXPECT_EQ(corpus.documents, 5);
  EXPECT_EQ(corpus.tokens, 54);
  EXPECT_EQ(corpus.documents_over_window, 2);
  EXPECT_EQ(corpus.tokens_over_window, 36);
}

TEST(CorpusTest, CutsWhatIsLongerThanTheWindow) {
  const Corpus corpus = FitToWindow(kLengths, 10, OverWindow::kCut);
  EXPECT_THAT(corpus.lengths, ElementsAre(5, 10, 1, 10, 10, 10, 5, 3));
  EXPECT_EQ(corpus.documents_over_window, 2);
  EXPECT_EQ(corpus.tokens_over_window, 36);
}

TEST(CorpusTest, OfNoDocuments) {
  EXPECT_THAT(FitToWindow({}, 10, OverWindow::kCut).lengths, IsEmpty());
}

}  // namespace
}  // namespace evenpack
