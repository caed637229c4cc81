#include "gpu_worker/app/profile_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gpu_worker/app/worker_options.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;

TEST(ProfileFlagsTest, ReadsWhatIsGiven) {
  const auto command = ReadWorkerCommand({"--profile", "--longest",
                                          "300",       "--query-heads",
                                          "6",         "--kv-heads",
                                          "3",         "--head-size",
                                          "64",        "--element-type",
                                          "bfloat16",  "--repetitions",
                                          "7",         "--most-exchange-bytes",
                                          "5000",      "--profile-ranks",
                                          "4",         "--hardware",
                                          "mine",      "--output",
                                          "p.json",    "--upload",
                                          "packer:1",  "--name",
                                          "p",         "--threads",
                                          "2"});
  ASSERT_THAT(command, IsOk());
  const ProfileFlags& flags = command->options.profile;
  EXPECT_TRUE(flags.profile);
  EXPECT_FALSE(command->options.selftest);
  EXPECT_EQ(flags.options.longest, 300U);
  EXPECT_EQ(flags.options.shape.query_heads, 6U);
  EXPECT_EQ(flags.options.shape.kv_heads, 3U);
  EXPECT_EQ(flags.options.shape.head_size, 64U);
  EXPECT_EQ(flags.options.shape.type, ElementType::kBfloat16);
  EXPECT_EQ(flags.options.repetitions.counted, 7U);
  EXPECT_EQ(flags.options.most_exchange_bytes, 5000U);
  EXPECT_EQ(flags.ranks, 4U);
  EXPECT_EQ(flags.hardware, "mine");
  EXPECT_EQ(flags.output, "p.json");
  EXPECT_EQ(flags.upload, "packer:1");
  EXPECT_EQ(flags.name, "p");
  EXPECT_EQ(command->options.threads, 2U);
}

TEST(ProfileFlagsTest, RefusesByNameWhatItDoesNotTake) {
  struct Row {
    std::vector<std::string> arguments;
    std::string message;
  };
  const Row rows[] = {
      {{"--profile", "--selftest"}, "2 modes"},
      {{"--profile", "--longest", "255"}, "--longest"},
      {{"--profile", "--longest", "131073"}, "--longest"},
      {{"--profile", "--head-size", "65"}, "head_size"},
      {{"--profile", "--query-heads", "3", "--kv-heads", "2"}, "query_heads"},
      {{"--profile", "--element-type", "float8"},
       "--element-type: 'float8' is not accepted; accepted: float32, bfloat16 or "
       "float16"},
      {{"--profile", "--repetitions", "0"}, "--repetitions"},
      {{"--profile", "--most-exchange-bytes", "4095"}, "--most-exchange-bytes"},
      {{"--profile", "--profile-ranks", "65"}, "--profile-ranks"},
      {{"--profile", "--upload", "packer:1"}, "accepted: with --name NAME"},
      {{"--profile", "--upload", "packer", "--name", "p"},
       "--upload: 'packer' is not accepted"},
  };
  for (const Row& row : rows) {
    EXPECT_THAT(ReadWorkerCommand(row.arguments),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(row.message)));
  }
}

}  // namespace
}  // namespace evenpack::worker
