#include "server/core/packing/last_steps.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

// Documents of this length weigh twice what they would without attention.
constexpr uint32_t kCrossover = 1000;
constexpr uint32_t kRoom = 3000;

int64_t LoadOf(int64_t tokens) {
  return 1000 * (tokens * tokens / kCrossover + tokens);
}

struct Case {
  std::string name;
  std::vector<uint32_t> lengths;
  int64_t rest_tokens = 0;
  size_t micro_batches = 4;
  uint32_t most_documents = UINT32_MAX;
  int64_t expected = 0;
};

class LastStepsTest : public ::testing::TestWithParam<Case> {};

TEST_P(LastStepsTest, WaitForTheHeaviestOfTheirStep) {
  const Case& given = GetParam();
  StepTerms terms;
  terms.micro_batches = given.micro_batches;
  terms.capacity = {.tokens = kRoom, .documents = given.most_documents};
  const WorkloadTable workload = testing::QuadraticWorkload(kCrossover, kRoom);
  const std::vector<Document> documents = testing::MakeDocuments(given.lengths);
  const LeftRest rest = {given.rest_tokens, 1000 * given.rest_tokens};
  EXPECT_EQ(ExcessOfLastSteps(PointTo(documents), rest, terms, workload),
            given.expected);
}

INSTANTIATE_TEST_SUITE_P(
    All, LastStepsTest,
    ::testing::Values(
        Case{"NothingIsLeft", {}},
        Case{"ThreeMicroBatchesWaitForOneDocument",
             {2000},
             0,
             4,
             UINT32_MAX,
             3 * LoadOf(2000)},
        Case{"TheRestFillsWhatIsLower",
             {2000},
             5000,
             4,
             UINT32_MAX,
             3 * LoadOf(2000) - 5'000'000},
        Case{"TheRestIsMoreThanThat", {1000}, 7000, 4},
        Case{"TheRestAlone", {}, 40'000, 4},
        Case{"LikesAreAStep", {2000, 2000, 2000, 2000, 500, 500, 500, 500}},
        // In two steps two micro-batches would have none.
        Case{"AsManyStepsAsAreBest", {1000, 1000, 1000, 1000, 1000, 1000}, 0, 2},
        // Tokens for two steps, but no two find room in one micro-batch.
        Case{"AsManyStepsAsThereIsRoomIn", {1600, 1600, 1600, 1600, 1600, 1600}, 0, 2},
        Case{"TheLastOfSixteenSteps", std::vector<uint32_t>(31, kRoom), 0, 2,
             UINT32_MAX, LoadOf(kRoom)},
        Case{"MoreStepsAreNotWeighed", std::vector<uint32_t>(33, kRoom), 0, 2},
        Case{"AsManyStepsAsDocumentsNeed", {100, 100, 100, 100, 100, 100}, 0, 1, 1}),
    [](const auto& tested) { return tested.param.name; });

// What is refused long before must not keep this from an end.
TEST(LastStepsOfTooLongDocumentsTest, AreNotWeighed) {
  StepTerms terms;
  terms.capacity = {.tokens = 10};
  const WorkloadTable workload = testing::QuadraticWorkload(kCrossover, kRoom);
  const std::vector<Document> documents = testing::MakeDocuments({11});
  EXPECT_EQ(ExcessOfLastSteps(PointTo(documents), {}, terms, workload), 0);
}

}  // namespace
}  // namespace evenpack
