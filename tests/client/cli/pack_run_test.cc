#include "client/cli/pack_run.h"

#include <gmock/gmock.h>

#include <random>
#include <vector>

#include "client/cli/job_flags.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;

JobFlags SmallJob() {
  JobFlags flags;
  flags.micro_batches = 4;
  flags.window = 1000;
  flags.max_length = 1500;
  flags.queue_thresholds = {400, 800};
  flags.cost = QuadraticCost{360, 1000};
  return flags;
}

PackFigures RunJob(const JobFlags& flags, PolicyKind policy,
                   const std::vector<uint32_t>& lengths, uint64_t passes = 1,
                   std::optional<uint64_t> max_steps = std::nullopt) {
  const auto spec = MakeJobSpec(flags, policy);
  EXPECT_THAT(spec, IsOk());
  DocumentStream stream(lengths, passes, 5);
  ProgressBar progress(nullptr, "");
  const auto figures = RunPack(*spec, stream, max_steps, progress);
  EXPECT_THAT(figures, IsOk());
  return figures.ok() ? *figures : PackFigures();
}

std::vector<uint32_t> RandomLengths(size_t count, uint32_t longest) {
  std::mt19937_64 generator(17);
  std::vector<uint32_t> lengths(count);
  for (uint32_t& length : lengths) {
    length = static_cast<uint32_t>(1 + DrawBelow(longest, generator));
  }
  return lengths;
}

TEST(PackRunTest, PacksEveryDocumentOnceWithEveryPolicy) {
  const std::vector<uint32_t> lengths = RandomLengths(2000, 1500);
  uint64_t tokens = 0;
  for (const uint32_t length : lengths) tokens += length;
  for (const PolicyKind policy :
       {PolicyKind::kOriginal, PolicyKind::kFixedGreedy, PolicyKind::kWlb}) {
    for (const bool split : {false, true}) {
      JobFlags flags = SmallJob();
      flags.window_batches = 3;
      flags.split_documents = split;
      const PackFigures figures = RunJob(flags, policy, lengths);
      EXPECT_EQ(figures.documents_in, 2000U);
      EXPECT_EQ(figures.documents_out, 2000U);
      EXPECT_EQ(figures.tokens_in, tokens);
      EXPECT_EQ(figures.tokens_out, tokens);
      EXPECT_EQ(figures.left_over, 0U);
      EXPECT_LE(figures.longest_micro_batch, 1500U);
      EXPECT_GT(figures.steps, 100U);
      EXPECT_GE(figures.imbalance->mean, 1.0);
      EXPECT_LE(figures.imbalance->max, 4.0);
      EXPECT_EQ(figures.digest.size(), 32U);
    }
  }
}

TEST(PackRunTest, CutsOverlongDocumentsAndCountsThemOnce) {
  JobFlags flags = SmallJob();
  flags.split_overlong = true;
  const std::vector<uint32_t> lengths = {10000, 5, 4000, 20};
  for (const PolicyKind policy :
       {PolicyKind::kOriginal, PolicyKind::kFixedGreedy, PolicyKind::kWlb}) {
    const PackFigures figures = RunJob(flags, policy, lengths);
    EXPECT_EQ(figures.documents_out, 4U);
    EXPECT_EQ(figures.tokens_out, 14025U);
    EXPECT_LE(figures.longest_micro_batch, 1500U);
  }
}

TEST(PackRunTest, KeepsTheDelayBound) {
  JobFlags flags = SmallJob();
  flags.max_delay = 3;
  const PackFigures bounded =
      RunJob(flags, PolicyKind::kWlb, RandomLengths(3000, 1000));
  EXPECT_LE(bounded.document_delay.max, 3U);
  flags.max_delay = std::nullopt;
  const PackFigures free =
      RunJob(flags, PolicyKind::kWlb, std::vector<uint32_t>(50, 9));
  EXPECT_EQ(free.document_delay.max, 0U);
}

TEST(PackRunTest, RepeatsTheFile) {
  const std::vector<uint32_t> lengths = RandomLengths(100, 900);
  const PackFigures once = RunJob(SmallJob(), PolicyKind::kWlb, lengths);
  const PackFigures thrice = RunJob(SmallJob(), PolicyKind::kWlb, lengths, 3);
  EXPECT_EQ(thrice.documents_out, 300U);
  EXPECT_EQ(thrice.tokens_out, 3 * once.tokens_out);
  EXPECT_EQ(thrice.digest, RunJob(SmallJob(), PolicyKind::kWlb, lengths, 3).digest);
}

TEST(PackRunTest, StopsAfterTheStepsAskedFor) {
  const std::vector<uint32_t> lengths = RandomLengths(2000, 900);
  for (const uint64_t steps : {1U, 7U, 50U}) {
    const PackFigures figures = RunJob(SmallJob(), PolicyKind::kWlb, lengths, 1, steps);
    EXPECT_EQ(figures.steps, steps);
    EXPECT_LT(figures.documents_in, 2000U);
    EXPECT_EQ(figures.documents_in, figures.documents_out);
    const PackFigures original =
        RunJob(SmallJob(), PolicyKind::kOriginal, lengths, 1, steps);
    EXPECT_EQ(original.steps, steps);
  }
  JobFlags wide = SmallJob();
  wide.window_batches = 4;
  // The window that holds step 6 is finished.
  EXPECT_EQ(RunJob(wide, PolicyKind::kFixedGreedy, lengths, 1, 6).steps, 8U);
}

TEST(PackRunTest, AStreamBelowOneStepDrains) {
  const PackFigures figures = RunJob(SmallJob(), PolicyKind::kWlb, {900, 1, 2});
  EXPECT_EQ(figures.steps, 0U);
  EXPECT_EQ(figures.drain_steps, 1U);
  EXPECT_EQ(figures.documents_out, 3U);
  EXPECT_FALSE(figures.imbalance.has_value());
  EXPECT_DOUBLE_EQ(figures.long_share_stream, 900.0 / 903.0);
}

}  // namespace
}  // namespace evenpack
