#include "client/cli/simulation/simulate_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

FlagValues With(FlagValues more) {
  more.insert({{"--config", "7B-128K"}, {"--lengths", "-"}});
  return more;
}

TEST(SimulateFlagsTest, LeaveTheConfigurationAsItIs) {
  const auto flags = ReadSimulateFlags(With({}));
  ASSERT_THAT(flags, IsOk());
  EXPECT_EQ(flags->input.method.policy, PolicyKind::kWlb);
  EXPECT_EQ(flags->input.method.sharding, Sharding::kAdaptive);
  EXPECT_EQ(flags->input.method.placing, MicroBatchPlacing::kGiven);
  EXPECT_EQ(flags->input.setup.cluster.virtual_stages, 1);
  EXPECT_EQ(flags->over_window, OverWindow::kDrop);
  EXPECT_EQ(flags->crossover_error, 0);
}

TEST(SimulateFlagsTest, ChangeWhatTheyName) {
  const auto flags = ReadSimulateFlags(With({{"--policy", "original"},
                                             {"--sharding", "per_document"},
                                             {"--split-documents", "true"},
                                             {"--hybrid-tolerance", "500"},
                                             {"--virtual-stages", "4"},
                                             {"--sync-domain", "micro_batch"},
                                             {"--over-window", "cut"},
                                             {"--placement", "least"},
                                             {"--crossover-error", "-0.25"},
                                             {"--steps", "7"}}));
  ASSERT_THAT(flags, IsOk());
  EXPECT_EQ(flags->input.method.policy, PolicyKind::kOriginal);
  EXPECT_EQ(flags->input.method.sharding, Sharding::kPerDocument);
  EXPECT_TRUE(flags->input.method.split_documents);
  EXPECT_EQ(flags->input.method.token_tolerance_ppm, 500U);
  EXPECT_EQ(flags->input.setup.cluster.virtual_stages, 4);
  EXPECT_EQ(flags->input.setup.cluster.sync_domain, SyncDomain::kMicroBatch);
  EXPECT_EQ(flags->input.method.placing, MicroBatchPlacing::kLeast);
  EXPECT_EQ(flags->over_window, OverWindow::kCut);
  EXPECT_EQ(flags->crossover_error, -0.25);
  EXPECT_EQ(flags->feed.steps, 7);
}

TEST(SimulateFlagsTest, SayWhichHaveNoEffectOnTheMethod) {
  const FlagValues values = With({{"--token-cv", "0.1"},
                                  {"--max-in-flight", "200000"},
                                  {"--split-documents", "true"},
                                  {"--window-batches", "2"},
                                  {"--hybrid-tolerance", "5"},
                                  {"--placement", "least"}});
  EXPECT_THAT(UnusedMethodFlags(values, WlbMethod()),
              ElementsAre("--hybrid-tolerance", "--max-in-flight", "--split-documents",
                          "--token-cv", "--window-batches"));
  EXPECT_THAT(UnusedMethodFlags(values, BalancedMethod()),
              ElementsAre("--split-documents", "--window-batches"));
  EXPECT_THAT(
      UnusedSimulateFlags({{"--seed", "1"}, {"--window-batches", "2"}}, WlbMethod()),
      ElementsAre("--seed", "--window-batches"));
  EXPECT_THAT(UnusedSimulateFlags({{"--seed", "1"}, {"--repeat", "2"}}, WlbMethod()),
              IsEmpty());
  SimulationMethod method = PlainMethod();
  EXPECT_THAT(UnusedMethodFlags({{"--split-documents", "true"}}, method), IsEmpty());
  method.policy = PolicyKind::kFixedGreedy;
  EXPECT_THAT(UnusedMethodFlags({{"--window-batches", "2"}}, method), IsEmpty());
}

TEST(SimulateFlagsTest, AnInterleavedScheduleOfFewMicroBatchesTakesAllTogether) {
  const testing::ScratchDirectory directory;
  const std::string path = directory.File("run.yaml");
  std::ofstream(path)
      << "model: {name: 7B}\n"
         "job:\n"
         "  window: 65536\n"
         "  parallelism: {data: 2, micro_batches_per_rank: 6, pipeline: 4}\n";
  const auto flags =
      ReadSimulateFlags(With({{"--config", path}, {"--virtual-stages", "2"}}));
  ASSERT_THAT(flags, IsOk());
  EXPECT_EQ(flags->input.setup.virtual_pipeline_group, 6);
}

TEST(SimulateFlagsTest, NameWhatTheyRefuse) {
  const std::pair<const char*, const char*> bad[] = {
      {"--policy", "best"},         {"--sharding", "mixed"},
      {"--split-documents", "yes"}, {"--virtual-stages", "0"},
      {"--sync-domain", "never"},   {"--over-window", "keep"},
      {"--crossover-error", "-1"},  {"--crossover-error", "nan"},
      {"--window-batches", "0"},    {"--steps", "0"},
      {"--placement", "best"},      {"--hybrid-tolerance", "1000001"},
      {"--config", "8B-128K"},
  };
  for (const auto& [flag, value] : bad) {
    EXPECT_THAT(ReadSimulateFlags(With({{flag, value}})),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(flag)))
        << flag << " " << value;
  }
}

}  // namespace
}  // namespace evenpack
