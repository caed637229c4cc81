#include "client/cli/emission_check.h"

#include <gmock/gmock.h>

#include <vector>

#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::StatusIs;
using ::testing::HasSubstr;

constexpr auto kInternal = absl::StatusCode::kInternal;

Document Piece(uint64_t sequence, uint32_t offset, uint32_t length,
               uint32_t document_length) {
  Document piece;
  piece.sequence = sequence;
  piece.offset = offset;
  piece.length = length;
  piece.document_length = document_length;
  return piece;
}

Document Whole(uint64_t sequence, uint32_t length) {
  return Piece(sequence, 0, length, length);
}

EmissionCheck Accepting(const std::vector<uint32_t>& lengths) {
  EmissionCheck check;
  check.Accept(lengths);
  return check;
}

TEST(EmissionCheckTest, CountsWholeDocumentsInAnyOrder) {
  EmissionCheck check = Accepting({5, 6, 7});
  for (const uint64_t sequence : {2U, 0U, 1U}) {
    const auto ended = check.Emit(Whole(sequence, static_cast<uint32_t>(5 + sequence)));
    ASSERT_THAT(ended, IsOk());
    EXPECT_TRUE(*ended);
  }
  check.Accept(std::vector<uint32_t>{8});
  EXPECT_EQ(check.documents_in(), 4U);
  EXPECT_EQ(check.documents_out(), 3U);
  EXPECT_EQ(check.tokens_in(), 26U);
  EXPECT_EQ(check.tokens_out(), 18U);
  EXPECT_THAT(check.Emit(Whole(3, 8)), IsOk());
}

TEST(EmissionCheckTest, ACutDocumentCountsOnceAtItsLastPiece) {
  EmissionCheck check = Accepting({10});
  const std::vector<Document> pieces = {Piece(0, 6, 4, 10), Piece(0, 0, 3, 10),
                                        Piece(0, 3, 3, 10)};
  for (size_t i = 0; i < pieces.size(); ++i) {
    const auto ended = check.Emit(pieces[i]);
    ASSERT_THAT(ended, IsOk());
    EXPECT_EQ(*ended, i == 2);
    EXPECT_EQ(check.documents_out(), i == 2 ? 1U : 0U);
  }
  EXPECT_THAT(check.Emit(pieces[0]), StatusIs(kInternal, HasSubstr("came out before")));
}

TEST(EmissionCheckTest, FindsWhatComesOutTwiceOrFromNowhere) {
  struct Case {
    std::vector<Document> pieces;  // the last one is wrong
    std::string message;
  };
  const std::vector<Case> cases = {
      {{Whole(2, 5)}, "was never accepted"},
      {{Whole(0, 5), Whole(0, 5)}, "came out before"},
      {{Whole(1, 6), Whole(1, 6)}, "came out before"},
      {{Whole(0, 4)}, "does not lie within the document's 5 tokens"},
      {{Piece(0, 0, 3, 6)}, "does not lie within"},
      {{Piece(0, 3, 3, 5)}, "does not lie within"},
      {{Piece(0, 0, 0, 5)}, "does not lie within"},
      {{Piece(0, 0, 3, 5), Piece(0, 2, 3, 5)}, "came out before in part"},
      {{Piece(0, 2, 3, 5), Piece(0, 0, 3, 5)}, "came out before in part"},
      {{Piece(0, 2, 1, 5), Piece(0, 2, 1, 5)}, "came out before in part"},
      {{Piece(0, 0, 3, 5), Whole(0, 5)}, "came out before in part"},
      {{Piece(0, 0, 3, 5), Piece(0, 0, 2, 2)}, "does not lie within"},
  };
  for (const Case& test : cases) {
    EmissionCheck check = Accepting({5, 6});
    for (size_t i = 0; i + 1 < test.pieces.size(); ++i) {
      ASSERT_THAT(check.Emit(test.pieces[i]), IsOk());
    }
    EXPECT_THAT(check.Emit(test.pieces.back()),
                StatusIs(kInternal, HasSubstr(test.message)));
  }
}

Step StepOf(const std::vector<std::vector<uint32_t>>& micro_batches) {
  Step step;
  for (const std::vector<uint32_t>& lengths : micro_batches) {
    MicroBatch& micro_batch = step.micro_batches.emplace_back();
    for (const uint32_t length : lengths) {
      micro_batch.documents.push_back(Whole(0, length));
      micro_batch.tokens += length;
    }
  }
  return step;
}

JobSpec SpecOf(PolicyKind kind) {
  JobSpec spec;
  spec.micro_batches = 2;
  spec.window = 10;
  spec.max_length = 15;
  spec.policy.kind = kind;
  return spec;
}

TEST(CheckBoundsTest, HoldsEachPolicyToItsBound) {
  const Step over_window = StepOf({{8, 7}, {}});
  EXPECT_THAT(CheckBounds(over_window, SpecOf(PolicyKind::kWlb)), IsOk());
  EXPECT_THAT(
      CheckBounds(over_window, SpecOf(PolicyKind::kOriginal)),
      StatusIs(kInternal, HasSubstr("15 tokens that says 15; the bound is 10")));
  const Step single = StepOf({{15}, {5, 5}});
  EXPECT_THAT(CheckBounds(single, SpecOf(PolicyKind::kFixedGreedy)), IsOk());
  EXPECT_THAT(CheckBounds(StepOf({{16}, {}}), SpecOf(PolicyKind::kFixedGreedy)),
              StatusIs(kInternal, HasSubstr("the bound is 15")));
  EXPECT_THAT(CheckBounds(StepOf({{8, 8}, {}}), SpecOf(PolicyKind::kWlb)),
              StatusIs(kInternal, HasSubstr("the bound is 15")));
}

TEST(CheckBoundsTest, FindsWrongSumsAndCounts) {
  Step wrong_sum = StepOf({{5}, {}});
  wrong_sum.micro_batches[0].tokens = 4;
  EXPECT_THAT(CheckBounds(wrong_sum, SpecOf(PolicyKind::kWlb)),
              StatusIs(kInternal, HasSubstr("5 tokens that says 4")));
  EXPECT_THAT(CheckBounds(StepOf({{5}}), SpecOf(PolicyKind::kWlb)),
              StatusIs(kInternal, HasSubstr("has 1 micro-batches, not 2")));
}

}  // namespace
}  // namespace evenpack
