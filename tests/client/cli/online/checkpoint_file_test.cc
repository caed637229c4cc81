#include "client/cli/online/checkpoint_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::ScratchDirectory;
using ::evenpack::testing::StatusIs;
using ::testing::HasSubstr;

TEST(CheckpointFileTest, ReadsWhatItWroteAndReplacesWhatWasThere) {
  const ScratchDirectory directory;
  const std::string path = directory.File("checkpoint");
  const std::string bytes("\0state\xff", 7);
  ASSERT_THAT(WriteCheckpointFile(path, "an older and longer one"), IsOk());
  ASSERT_THAT(WriteCheckpointFile(path, bytes), IsOk());
  EXPECT_EQ(ReadCheckpointFile(path).value(), bytes);
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
}

TEST(CheckpointFileTest, PathsThatCanNotBeUsedAreNamed) {
  const ScratchDirectory directory;
  const std::string path = directory.File("none/checkpoint");
  EXPECT_THAT(WriteCheckpointFile(path, "x"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--output: '")));
  EXPECT_THAT(ReadCheckpointFile(path),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path)));
}

}  // namespace
}  // namespace evenpack
