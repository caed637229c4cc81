#include "client/cli/shard_command.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::IsOk;
using testing::ScratchDirectory;
using testing::StatusIs;

TEST(ShardCommandTest, MoreSlicesThanFitInMemoryAreNotPrinted) {
  const ScratchDirectory folder;
  const std::string lengths = folder.File("lengths");
  {
    std::ofstream file(lengths);
    for (int i = 0; i < 4097; ++i) file << "2048\n";
  }
  FlagValues values = {
      {"--lengths", lengths}, {"--cp", "512"}, {"--sharding", "per_document"}};
  EXPECT_THAT(RunShardCommand(values), IsOk());
  values["--print-slices"] = "";
  EXPECT_THAT(RunShardCommand(values).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "--print-slices: 4195328 slices is not accepted; accepted: at "
                       "most 4194304: fewer documents, or a lower --cp"));
}

}  // namespace
}  // namespace evenpack
