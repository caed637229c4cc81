#include "client/cli/document_lengths.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "tests/client/cli/index_bytes.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IndexContent;
using ::evenpack::testing::IsOk;
using ::evenpack::testing::kInvalid;
using ::evenpack::testing::ScratchDirectory;
using ::evenpack::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DocumentLengthsTest : public ::testing::Test {
 protected:
  FeedFlags Lengths(const std::string& text) {
    FeedFlags feed;
    feed.lengths = directory_.File("lengths.txt");
    std::ofstream(feed.lengths) << text;
    return feed;
  }
  FeedFlags Index(const std::vector<std::vector<int32_t>>& documents) {
    FeedFlags feed;
    feed.index = directory_.File("corpus");
    std::ofstream(feed.index + ".idx", std::ios::binary)
        << IndexContent::Of(documents).Bytes();
    return feed;
  }

  ScratchDirectory directory_;
};

TEST_F(DocumentLengthsTest, AFileOfLengthsAndAnIndexOfTheSameAreAlike) {
  for (const FeedFlags& feed : {Lengths("8\n5\n"), Index({{3, 5}, {5}})}) {
    const auto documents = ReadDocumentLengths(feed);
    ASSERT_THAT(documents, IsOk());
    EXPECT_THAT(documents->lengths, ElementsAre(8, 5));
    EXPECT_EQ(documents->note, "");
  }
}

TEST_F(DocumentLengthsTest, DocumentsWithoutATokenAreLeftOutAndCounted) {
  const FeedFlags feed = Index({{}, {3}, {0, 0}, {5}, {}});
  const auto documents = ReadDocumentLengths(feed);
  ASSERT_THAT(documents, IsOk());
  EXPECT_THAT(documents->lengths, ElementsAre(3, 5));
  EXPECT_EQ(documents->note, "evenpackctl: note: documents of " + feed.index +
                                 ".idx without a token, left out: 3\n");
}

TEST_F(DocumentLengthsTest, AnIndexWithoutATokenIsRefused) {
  const std::vector<std::vector<int32_t>> contents[] = {{}, {{}, {0}}};
  for (const std::vector<std::vector<int32_t>>& documents : contents) {
    const FeedFlags feed = Index(documents);
    EXPECT_THAT(
        ReadDocumentLengths(feed),
        StatusIs(kInvalid, "--idx: '" + feed.index +
                               ".idx' (no tokens) is not accepted; accepted: an "
                               "index with a document that has tokens"));
  }
}

// An index counts its documents from 0, and those that are left out with them.
TEST_F(DocumentLengthsTest, NamesTheFirstDocumentThatIsTooLong) {
  const FeedFlags index = Index({{10}, {}, {6, 5}, {12}});
  const FeedFlags lengths = Lengths("10\n11\n12\n");
  const std::string accepted =
      " is not accepted; accepted: 1 to 10 tokens, which is --max-length, or longer "
      "with --split-overlong true";
  EXPECT_THAT(ReadDocumentLengths(index, 10, false),
              StatusIs(kInvalid, index.index + ".idx: document 2: 11" + accepted));
  EXPECT_THAT(ReadDocumentLengths(lengths, 10, false),
              StatusIs(kInvalid, "line 2: '11'" + accepted));
  for (const FeedFlags& feed : {index, lengths}) {
    EXPECT_THAT(ReadDocumentLengths(feed, 12, false), IsOk());
    EXPECT_THAT(ReadDocumentLengths(feed, 10, true), IsOk());
  }
}

TEST_F(DocumentLengthsTest, NamesTheFirstDocumentThatIsTooLongToBeCut) {
  const FeedFlags index = Index({{655'360}, {655'361}});
  const FeedFlags lengths = Lengths("655360\n655361\n");
  const std::string accepted =
      " is not accepted; accepted: 1 to 655360 tokens, which is 65536 pieces of "
      "--max-length";
  EXPECT_THAT(ReadDocumentLengths(index, 10, true),
              StatusIs(kInvalid, index.index + ".idx: document 1: 655361" + accepted));
  EXPECT_THAT(ReadDocumentLengths(lengths, 10, true),
              StatusIs(kInvalid, "line 2: '655361'" + accepted));
  for (const FeedFlags& feed : {index, lengths}) {
    EXPECT_THAT(ReadDocumentLengths(feed, 11, true), IsOk());
    EXPECT_THAT(ReadDocumentLengths(feed), IsOk());
  }
  EXPECT_THAT(ReadDocumentLengths(Lengths("2147483647\n"), 40'000, true), IsOk());
}

TEST_F(DocumentLengthsTest, DamageOfAnIndexIsRefused) {
  FeedFlags feed;
  feed.index = directory_.File("bad.idx");
  std::ofstream(feed.index) << "TNTIDX";
  EXPECT_THAT(ReadDocumentLengths(feed),
              StatusIs(kInvalid, HasSubstr("bad.idx: magic at byte 0: 'TNTIDX'")));
}

}  // namespace
}  // namespace evenpack
