#include "client/cli/simulation/paper_configs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "server/core/pipeline/step_prediction.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(PaperConfigsTest, UseTheGpusOfTableOne) {
  const uint64_t gpus[] = {32, 32, 32, 64, 64, 128, 256, 256};
  ASSERT_EQ(PaperConfigs().size(), std::size(gpus));
  for (size_t i = 0; i < PaperConfigs().size(); ++i) {
    const SimulationSetup setup = MakeSetup(PaperConfigs()[i]);
    EXPECT_EQ(GpuCount(setup.cluster), gpus[i]) << setup.name;
    EXPECT_EQ(setup.micro_batches,
              setup.cluster.pipeline_parallel * setup.cluster.data_parallel);
  }
}

TEST(PaperConfigsTest, CanAllBePredicted) {
  for (const char* name :
       {"550M-64K", "550M-128K", "7B-64K", "7B-128K", "30B-64K", "30B-128K", "70B-64K",
        "70B-128K", "405B-128K", "405B-128K-100K"}) {
    SCOPED_TRACE(name);
    EXPECT_THAT(SetupNames(), HasSubstr(name));
    const auto setup = NamedSetup(name);
    ASSERT_THAT(setup, IsOk());
    EXPECT_THAT(Validate(setup->cluster, setup->model), IsOk());
    EXPECT_THAT(ValidateStepShape(setup->cluster, setup->micro_batches,
                                  setup->virtual_pipeline_group),
                IsOk());
  }
  EXPECT_EQ(GpuCount(NamedSetup("405B-128K")->cluster), 8192);
  EXPECT_EQ(GpuCount(NamedSetup("405B-128K-100K")->cluster), 98304);
}

TEST(PaperConfigsTest, PublishedMeansAreThoseOfTheBars) {
  double fixed = 0;
  double wlb = 0;
  for (const PaperConfig& config : PaperConfigs()) {
    fixed += config.published_fixed / 8;
    wlb += config.published_wlb / 8;
  }
  // The bars are read from a figure to two digits.
  EXPECT_NEAR(fixed, kPublishedMeanFixed, 0.01);
  EXPECT_NEAR(wlb, kPublishedMeanWlb, 0.01);
}

TEST(PaperConfigsTest, RefusesAnUnknownName) {
  EXPECT_THAT(NamedSetup("8B-128K"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("--config: '8B-128K'"), HasSubstr("7B-128K"))));
}

}  // namespace
}  // namespace evenpack
