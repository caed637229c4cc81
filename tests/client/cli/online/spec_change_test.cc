#include "client/cli/online/spec_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/client/cli/online/test_context.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::ScratchDirectory;
using ::evenpack::testing::StatusIs;
using ::evenpack::testing::TestContext;
using ::testing::HasSubstr;

v1::JobSpec Present() {
  v1::JobSpec spec;
  spec.add_streams()->set_name("web");
  spec.set_merge(v1::MERGE_MODE_ARRIVAL);
  spec.set_window(1000);
  spec.mutable_parallelism()->set_data(2);
  return spec;
}

TEST(SpecChangeTest, FlagsChangeWhatTheyName) {
  TestContext context;
  const FlagValues values = {{"NAME", "run"}, {"--dp", "4"}};
  EXPECT_TRUE(ChangesSpec(values));
  EXPECT_FALSE(ChangesSpec({{"NAME", "run"}, {"--json", "true"}}));
  v1::JobSpec spec = Present();
  ASSERT_THAT(SpecChange::Read(values)->Apply(context.Get(), spec), IsOk());
  EXPECT_EQ(spec.parallelism().data(), 4U);
  EXPECT_EQ(spec.window(), 1000U);
}

TEST(SpecChangeTest, AFileReplacesTheSpecButForStreamsAndMerge) {
  TestContext context;
  const ScratchDirectory directory;
  const std::string path = directory.File("spec.yaml");
  std::ofstream(path) << "window: 500\n";
  const FlagValues values = {{"--spec", path}, {"--dp", "3"}};
  EXPECT_TRUE(ChangesSpec(values));
  v1::JobSpec spec = Present();
  ASSERT_THAT(SpecChange::Read(values)->Apply(context.Get(), spec), IsOk());
  EXPECT_EQ(spec.window(), 500U);
  EXPECT_EQ(spec.parallelism().data(), 3U);
  EXPECT_EQ(spec.streams(0).name(), "web");
  EXPECT_EQ(spec.merge(), v1::MERGE_MODE_ARRIVAL);
}

TEST(SpecChangeTest, BadFlagsAndFilesShowWhenTheyAreRead) {
  EXPECT_THAT(SpecChange::Read({{"--dp", "x"}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--dp")));
  EXPECT_THAT(SpecChange::Read({{"--spec", "/none/spec.yaml"}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("/none")));
}

}  // namespace
}  // namespace evenpack
