#include "client/cli/exact_repacking.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "client/cli/document_stream.h"
#include "client/cli/pack_run.h"
#include "client/cli/progress_bar.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;

// Small windows, whose searches end of themselves.
JobFlags SmallJob() {
  JobFlags flags;
  flags.micro_batches = 2;
  flags.window = 100;
  flags.max_length = 150;
  flags.window_batches = 2;
  flags.cost = QuadraticCost{36, 1000};
  return flags;
}

std::vector<uint32_t> RandomLengths(size_t count, uint32_t longest) {
  std::mt19937_64 random(29);
  std::vector<uint32_t> lengths(count);
  for (uint32_t& length : lengths) length = testing::Draw(random, 5, longest);
  return lengths;
}

struct Outcome {
  PackFigures figures;
  SolverFigures solver;
};

Outcome RunJob(const JobFlags& flags, const PackPolicy& policy,
               const std::vector<uint32_t>& lengths, const SolverOptions& options) {
  const auto spec = MakePackJobSpec(flags, policy);
  EXPECT_THAT(spec, IsOk());
  DocumentStream stream(lengths, 1, 0);
  ProgressBar progress(nullptr, "");
  ExactRepacking repacking(*policy.exact, options);
  StepHooks hooks;
  hooks.change = [&](const JobState& state, StepDecided& decided) {
    repacking.Repack(state, decided);
  };
  const auto figures = RunPack(*spec, stream, std::nullopt, progress, hooks);
  EXPECT_THAT(figures, IsOk());
  return {figures.ok() ? *figures : PackFigures(), repacking.Figures()};
}

const PackPolicy kFixed = {"fixed_solver", PolicyKind::kFixedGreedy,
                           ExactPolicy::kFixed};
const PackPolicy kVarlen = {"varlen_solver", PolicyKind::kWlb, ExactPolicy::kVarlen};
constexpr SolverOptions kExact = {.time_limit = 300, .gap = 0.001};

// RunPack checks on the way that each comes out once and no bound is exceeded.
TEST(ExactRepackingTest, EveryDocumentComesOutOnce) {
  const std::vector<uint32_t> lengths = RandomLengths(300, 60);
  for (const PackPolicy& policy : {kFixed, kVarlen}) {
    const Outcome run = RunJob(SmallJob(), policy, lengths, kExact);
    EXPECT_EQ(run.figures.documents_out, 300U);
    EXPECT_EQ(run.figures.left_over, 0U);
    EXPECT_GT(run.solver.windows, 10U);
    EXPECT_EQ(run.solver.optimal_windows, run.solver.windows);
    EXPECT_EQ(run.solver.time_limited_windows, 0U);
    EXPECT_LE(run.solver.max_gap, 0.001);
    EXPECT_LE(*run.solver.lower_bound_mean, *run.solver.heaviest_mean);
    EXPECT_EQ(run.figures.digest.size(), 32U);
  }
}

TEST(ExactRepackingTest, HasDocumentsCutAndOverlongOnesAlone) {
  JobFlags flags = SmallJob();
  flags.split_overlong = true;
  const std::vector<uint32_t> lengths = {400, 5, 120, 20, 130, 7, 60, 60, 60, 9, 9};
  for (const PackPolicy& policy : {kFixed, kVarlen}) {
    const Outcome run = RunJob(flags, policy, lengths, kExact);
    EXPECT_EQ(run.figures.documents_out, lengths.size());
    EXPECT_EQ(run.figures.tokens_out, 880U);
    EXPECT_LE(run.figures.longest_micro_batch, 150U);
  }
}

TEST(ExactRepackingTest, GivesTheSameStepsAgain) {
  const std::vector<uint32_t> lengths = RandomLengths(120, 60);
  for (const PackPolicy& policy : {kFixed, kVarlen}) {
    EXPECT_EQ(RunJob(SmallJob(), policy, lengths, kExact).figures.digest,
              RunJob(SmallJob(), policy, lengths, kExact).figures.digest);
  }
}

TEST(ExactRepackingTest, WithoutTimeItLeavesTheHeuristicsPacking) {
  const std::vector<uint32_t> lengths = RandomLengths(300, 60);
  for (const PackPolicy& policy : {kFixed, kVarlen}) {
    const Outcome run = RunJob(SmallJob(), policy, lengths, {.time_limit = 0});
    const auto spec = MakePackJobSpec(SmallJob(), policy);
    ASSERT_THAT(spec, IsOk());
    DocumentStream stream(lengths, 1, 0);
    ProgressBar progress(nullptr, "");
    const auto heuristic = RunPack(*spec, stream, std::nullopt, progress);
    ASSERT_THAT(heuristic, IsOk());
    EXPECT_DOUBLE_EQ(run.figures.imbalance->max, heuristic->imbalance->max);
    EXPECT_DOUBLE_EQ(run.figures.imbalance->mean, heuristic->imbalance->mean);
    EXPECT_GT(run.solver.time_limited_windows, 0U);
  }
}

TEST(ExactRepackingTest, IsMoreEvenThanTheHeuristic) {
  const std::vector<uint32_t> lengths = RandomLengths(300, 60);
  for (const PackPolicy& policy : {kFixed, kVarlen}) {
    const double heuristic =
        *RunJob(SmallJob(), policy, lengths, {.time_limit = 0}).solver.heaviest_mean;
    EXPECT_LT(*RunJob(SmallJob(), policy, lengths, kExact).solver.heaviest_mean,
              heuristic);
  }
}

// Steps of one window, cut heaviest first.
TEST(ExactRepackingTest, TheHeaviestMicroBatchesOfAWindowAreOneStep) {
  JobState state;
  state.spec = *MakePackJobSpec(SmallJob(), kFixed);
  const std::vector<Document> documents =
      testing::MakeDocuments({90, 80, 70, 60, 10, 10, 10, 10});
  StepDecided decided;
  decided.planned.resize(1);
  decided.step.micro_batches.resize(2);
  decided.planned[0].micro_batches.resize(2);
  decided.step.micro_batches[0] = {.documents = {documents[3], documents[4]},
                                   .tokens = 70};
  decided.step.micro_batches[1] = {.documents = {documents[1], documents[5]},
                                   .tokens = 90};
  decided.planned[0].micro_batches[0] = {.documents = {documents[2], documents[6]},
                                         .tokens = 80};
  decided.planned[0].micro_batches[1] = {.documents = {documents[0], documents[7]},
                                         .tokens = 100};
  for (MicroBatch& micro_batch : decided.step.micro_batches) {
    micro_batch.sharding = Sharding::kPerDocument;
  }
  ExactRepacking repacking(ExactPolicy::kFixed, kExact);
  repacking.Repack(state, decided);
  ASSERT_EQ(decided.step.micro_batches.size(), 2U);
  ASSERT_EQ(decided.planned.size(), 1U);
  ASSERT_EQ(decided.planned[0].micro_batches.size(), 2U);
  std::vector<int64_t> workloads;
  uint64_t tokens = 0;
  for (const Step* step : {&decided.step, &decided.planned[0]}) {
    for (const MicroBatch& micro_batch : step->micro_batches) {
      workloads.push_back(micro_batch.workload_ns);
      tokens += micro_batch.tokens;
      EXPECT_EQ(micro_batch.sharding, Sharding::kPerDocument);
    }
  }
  EXPECT_TRUE(std::is_sorted(workloads.rbegin(), workloads.rend()));
  EXPECT_LT(workloads.back(), workloads.front());
  EXPECT_EQ(tokens, 340U);
  EXPECT_EQ(decided.step.digest, StepDigest(state.position.digest, decided.step));

  // A step of a plan is as it was planned.
  StepDecided later;
  later.from_plan = true;
  later.step = decided.planned[0];
  const Step before = later.step;
  repacking.Repack(state, later);
  EXPECT_EQ(later.step, before);
  EXPECT_EQ(repacking.Figures().windows, 1U);
}

}  // namespace
}  // namespace evenpack
