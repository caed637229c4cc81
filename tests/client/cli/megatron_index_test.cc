#include "client/cli/megatron_index.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
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
using ::testing::IsEmpty;

// Where the parts of an index of five sequences and four indices are.
constexpr size_t kSequences = 34;
constexpr size_t kIndices = 94;
constexpr size_t kEnd = 126;

class MegatronIndexTest : public ::testing::Test {
 protected:
  // The documents of an index with these bytes.
  absl::StatusOr<std::vector<uint32_t>> Documents(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    auto reader = MegatronIndexReader::Open(path_);
    if (!reader.ok()) return reader.status();
    std::vector<uint32_t> documents;
    while (true) {
      const auto tokens = reader->Next();
      if (!tokens.ok()) return tokens.status();
      if (!tokens->has_value()) break;
      documents.push_back(**tokens);
    }
    EXPECT_EQ(reader->documents(), documents.size());
    return documents;
  }

  const ScratchDirectory directory_;
  const std::string path_ = directory_.File("corpus.idx");
  const IndexContent content_ = IndexContent::Of({{5, 6}, {}, {7, 0, 9}});
};

TEST_F(MegatronIndexTest, ADocumentHasTheTokensOfItsSequences) {
  ASSERT_EQ(content_.Bytes().size(), kEnd);
  const auto documents = Documents(content_.Bytes());
  ASSERT_THAT(documents, IsOk());
  EXPECT_THAT(*documents, ElementsAre(11, 0, 16));
}

TEST_F(MegatronIndexTest, ModesOfSequencesAreLeftAlone) {
  IndexContent content = content_;
  content.has_modes = true;
  const auto documents = Documents(content.Bytes());
  ASSERT_THAT(documents, IsOk());
  EXPECT_THAT(*documents, ElementsAre(11, 0, 16));
}

TEST_F(MegatronIndexTest, AnIndexMayHaveNoDocuments) {
  const auto documents = Documents(IndexContent::Of({}).Bytes());
  ASSERT_THAT(documents, IsOk());
  EXPECT_THAT(*documents, IsEmpty());
}

TEST_F(MegatronIndexTest, EveryTypeOfTokenIsAccepted) {
  for (uint8_t type = 1; type <= 8; ++type) {
    IndexContent content = content_;
    content.type = type;
    EXPECT_THAT(Documents(content.Bytes()), IsOk()) << int{type};
  }
}

// Of more sequences and documents than a block of them has.
TEST_F(MegatronIndexTest, RandomDocumentsComeBack) {
  std::mt19937_64 random(5);
  for (const size_t most : {1U, 3U, 40U}) {
    std::vector<std::vector<int32_t>> documents(most == 1 ? 100'000 : 20'000);
    std::vector<uint32_t> expected;
    for (std::vector<int32_t>& document : documents) {
      document.resize(random() % (most + 1));
      for (int32_t& tokens : document)
        tokens = static_cast<int32_t>(random() % 100'000);
      expected.push_back(static_cast<uint32_t>(
          std::accumulate(document.begin(), document.end(), int64_t{0})));
    }
    IndexContent content = IndexContent::Of(documents);
    content.has_modes = most == 3;
    const auto read = Documents(content.Bytes());
    ASSERT_THAT(read, IsOk());
    EXPECT_TRUE(*read == expected) << most;
  }
}

TEST_F(MegatronIndexTest, TheLatestDocumentHasAName) {
  std::ofstream(path_, std::ios::binary) << content_.Bytes();
  auto reader = MegatronIndexReader::Open(path_);
  ASSERT_THAT(reader, IsOk());
  for (int document = 0; document < 3; ++document) {
    ASSERT_THAT(reader->Next(), IsOk());
    EXPECT_EQ(reader->DocumentName(), absl::StrCat(path_, ": document ", document));
  }
}

TEST_F(MegatronIndexTest, DamageIsRefusedByFieldPlaceAndValue) {
  struct Row {
    size_t offset;
    size_t width;
    uint64_t number;
    std::string message;
  };
  const Row rows[] = {
      {0, 1, 'X',
       "magic at byte 0: 'XMIDIDX\\x00\\x00' is not accepted; accepted: "
       "'MMIDIDX\\x00\\x00'"},
      {8, 1, '!', "magic at byte 0: 'MMIDIDX\\x00!' is not accepted"},
      {9, 8, 2, "version at byte 9: 2 is not accepted; accepted: 1"},
      {9, 8, uint64_t{1} << 56,
       "version at byte 9: 72057594037927936 is not accepted; accepted: 1"},
      {17, 1, 0, "type of a token at byte 17: 0 is not accepted; accepted: 1 to 8"},
      {17, 1, 9, "type of a token at byte 17: 9 is not accepted; accepted: 1 to 8"},
      {17, 1, 255, "type of a token at byte 17: 255 is not accepted"},
      {18, 8, 8,
       "count of sequences at byte 18: 8 is not accepted; accepted: 0 to 7, for which "
       "126 bytes have room"},
      {18, 8, UINT64_MAX, "count of sequences at byte 18: 18446744073709551615 is not"},
      {18, 8, 4,
       "size in bytes: 126 is not accepted; accepted: 114 for 4 sequences and 4 "
       "document indices, or 118 with modes"},
      {18, 8, 7,
       "count of document indices at byte 26: 4 is not accepted; accepted: 2 or more, "
       "in a longer file"},
      {26, 8, 0,
       "count of document indices at byte 26: 0 is not accepted; accepted: 2 to 4, for "
       "which 126 bytes have room"},
      {26, 8, 1, "count of document indices at byte 26: 1 is not accepted"},
      {26, 8, 5, "count of document indices at byte 26: 5 is not accepted"},
      {26, 8, UINT64_MAX,
       "count of document indices at byte 26: 18446744073709551615 is not"},
      {26, 8, 3,
       "size in bytes: 126 is not accepted; accepted: 118 for 5 sequences and 3 "
       "document indices, or 123 with modes"},
      {kSequences, 4, 0xffff'ffff,
       "tokens of sequence 0 at byte 34: -1 is not accepted; accepted: 0 to "
       "2147483647"},
      {kSequences + 16, 4, 0x8000'0000,
       "tokens of sequence 4 at byte 50: -2147483648 is not accepted"},
      {kSequences, 4, 0x7fff'ffff,
       "document 0: tokens of its sequences: 2147483653 is not accepted; accepted: 0 "
       "to "
       "2147483647"},
      {kIndices, 8, 1, "document index 0 at byte 94: 1 is not accepted; accepted: 0"},
      {kIndices, 8, UINT64_MAX, "document index 0 at byte 94: -1 is not accepted"},
      {kIndices + 8, 8, 6,
       "document index 1 at byte 102: 6 is not accepted; accepted: 0 to 5: they rise "
       "to the count of sequences"},
      {kIndices + 16, 8, 1,
       "document index 2 at byte 110: 1 is not accepted; accepted: 2 to 5: they rise "
       "to the count of sequences"},
      {kIndices + 16, 8, UINT64_MAX,
       "document index 2 at byte 110: -1 is not accepted"},
      {kIndices + 24, 8, 4,
       "document index 3 at byte 118: 4 is not accepted; accepted: 5, the count of "
       "sequences"},
      {kIndices + 24, 8, 6, "document index 3 at byte 118: 6 is not accepted"},
  };
  for (const Row& row : rows) {
    std::string field;
    testing::AppendNumber(row.number, row.width, field);
    std::string bytes = content_.Bytes();
    bytes.replace(row.offset, row.width, field);
    EXPECT_THAT(Documents(bytes),
                StatusIs(kInvalid, HasSubstr(absl::StrCat(path_, ": ", row.message))));
  }
}

TEST_F(MegatronIndexTest, AnIndexIsOneAtItsFullLengthAlone) {
  for (const bool has_modes : {false, true}) {
    IndexContent content = content_;
    content.has_modes = has_modes;
    const std::string bytes = content.Bytes() + std::string(8, '\0');
    for (size_t size = 0; size <= bytes.size(); ++size) {
      if (size == kEnd || size == kEnd + 5) continue;
      EXPECT_THAT(Documents(bytes.substr(0, size)),
                  StatusIs(kInvalid, HasSubstr("is not accepted; accepted: ")))
          << size;
    }
  }
  EXPECT_THAT(
      Documents(""),
      StatusIs(kInvalid, path_ + ": size in bytes: 0 is not accepted; accepted: "
                                 "at least 34, the header of a Megatron-Core "
                                 "index"));
}

// Whatever one byte becomes: an error that names the file, or as many documents.
TEST_F(MegatronIndexTest, AnyOneByteMayBeAnother) {
  const std::string whole = content_.Bytes();
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char flipped : {'\x01', '\x80', '\xff'}) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ flipped);
      const auto documents = Documents(bytes);
      if (documents.ok()) {
        EXPECT_EQ(documents->size(), 3U) << at;
      } else {
        EXPECT_THAT(documents, StatusIs(kInvalid, HasSubstr(path_ + ": "))) << at;
      }
    }
  }
}

TEST_F(MegatronIndexTest, RefusesWhatCannotBeOpened) {
  EXPECT_THAT(MegatronIndexReader::Open("/no/such.idx"),
              StatusIs(kInvalid,
                       "--idx: '/no/such.idx' (No such file or directory) is not "
                       "accepted; accepted: the path of a Megatron-Core index, with or "
                       "without .idx at its end"));
}

TEST(MegatronIndexPathTest, EndsInIdx) {
  EXPECT_EQ(MegatronIndexPath("data/corpus_text_document"),
            "data/corpus_text_document.idx");
  EXPECT_EQ(MegatronIndexPath("data/corpus.idx"), "data/corpus.idx");
  EXPECT_EQ(MegatronIndexPath("corpus.idx.d/a"), "corpus.idx.d/a.idx");
}

}  // namespace
}  // namespace evenpack
