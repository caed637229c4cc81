#include "gpu_worker/c_api/step_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/core/digest/digest_bytes.h"
#include "tests/gpu_worker/sidecar/pretended_job.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::PretendedJob;

constexpr uint64_t kShownSteps = 6;

TEST(StepColumnsTest, AStepIsShownWithWhatACheckpointKeeps) {
  const PretendedJob job(kShownSteps);
  const client::RankStep step = job.Step(4);
  EvenpackStep shown{};
  ShowStep(step, shown);
  EXPECT_EQ(shown.drained, 0);
  EXPECT_EQ(shown.index, 4U);
  EXPECT_EQ(shown.micro_batches, 2U);
  EXPECT_EQ(shown.loss_tokens, step.totals().loss_tokens);
  EXPECT_EQ(std::string(std::begin(shown.digest), std::end(shown.digest)),
            DigestBytes(step.digest()));
}

TEST(StepColumnsTest, SlicesOfAllRanksCoverEachDocumentOnce) {
  const PretendedJob job(kShownSteps);
  uint64_t tokens = 0;
  for (uint64_t index = 0; index < kShownSteps; ++index) {
    const client::RankStep step = job.Step(index);
    for (const client::MicroBatchView& view : step.micro_batches()) {
      std::vector<uint64_t> covered(view.documents().size());
      for (uint32_t rank = 0; rank < 2; ++rank) {
        const MicroBatchColumns columns = ColumnsOf(view, rank);
        EvenpackMicroBatch shown{};
        ShowMicroBatch(view, columns, shown);
        EXPECT_EQ(shown.index, view.index());
        EXPECT_EQ(shown.tokens, view.rank_tokens()[rank]);
        EXPECT_EQ(shown.padding, view.rank_padding()[rank]);
        ASSERT_EQ(shown.documents, view.documents().size());
        for (uint64_t i = 0; i < shown.documents; ++i) {
          EXPECT_EQ(shown.document[i].sequence, view.documents()[i].sequence);
          EXPECT_EQ(shown.document[i].length, view.documents()[i].length);
        }
        for (uint64_t i = 0; i < shown.slices; ++i) {
          covered[shown.slice[i].document] += shown.slice[i].end - shown.slice[i].begin;
        }
        EXPECT_EQ(shown.token_ids, nullptr);
        tokens += shown.tokens;
      }
      for (size_t i = 0; i < covered.size(); ++i) {
        EXPECT_EQ(covered[i], view.documents()[i].length);
      }
    }
  }
  EXPECT_GT(tokens, 0U);
}

}  // namespace
}  // namespace evenpack::worker
