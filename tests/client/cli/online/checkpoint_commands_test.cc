#include "client/cli/online/checkpoint_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "evenpack/v1/job.pb.h"
#include "tests/client/cli/online/test_context.h"
#include "tests/testing/file_bytes.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::ScratchDirectory;
using ::evenpack::testing::StatusIs;
using ::evenpack::testing::TestContext;
using ::testing::HasSubstr;
using ::testing::Property;
using ::testing::Return;

class CheckpointCommandsTest : public ::testing::Test {
 protected:
  static v1::CheckpointJobResponse Checkpoint() {
    v1::CheckpointJobResponse response;
    response.set_checkpoint(std::string("\0state\xff", 7));
    response.set_digest(std::string(16, '\x0a'));
    return response;
  }

  TestContext context_;
  ScratchDirectory directory_;
  const std::string path_ = directory_.File("checkpoint");
};

TEST_F(CheckpointCommandsTest, WritesTheCheckpointAndSaysWhatItIs) {
  EXPECT_CALL(*context_.connection, CheckpointJob("run", 7))
      .WillRepeatedly(Return(Checkpoint()));
  const FlagValues values = {{"NAME", "run"}, {"--step", "7"}, {"--output", path_}};
  ASSERT_THAT(RunCheckpoint(values, context_.Get()), IsOk());
  EXPECT_EQ(evenpack::testing::FileBytes(path_), Checkpoint().checkpoint());
  EXPECT_THAT(context_.out.text(), HasSubstr("job run after step 7, digest 0a0a"));
  EXPECT_FALSE(std::filesystem::exists(path_ + ".part"));
}

TEST_F(CheckpointCommandsTest, SaysItAsJson) {
  EXPECT_CALL(*context_.connection, CheckpointJob("run", 0))
      .WillOnce(Return(Checkpoint()));
  const FlagValues values = {
      {"NAME", "run"}, {"--step", "0"}, {"--output", path_}, {"--json", "true"}};
  ASSERT_THAT(RunCheckpoint(values, context_.Get()), IsOk());
  const auto json = nlohmann::json::parse(context_.out.text());
  EXPECT_EQ(json["name"], "run");
  EXPECT_EQ(json["step"], 0);
  EXPECT_EQ(json["bytes"], 7);
  EXPECT_EQ(json["digest"], "0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a");
  EXPECT_EQ(json["output"], path_);
}

TEST_F(CheckpointCommandsTest, AFileThatCanNotBeWrittenIsNamed) {
  EXPECT_CALL(*context_.connection, CheckpointJob).WillOnce(Return(Checkpoint()));
  const std::string path = directory_.File("none/checkpoint");
  EXPECT_THAT(RunCheckpoint({{"NAME", "run"}, {"--step", "1"}, {"--output", path}},
                            context_.Get()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path)));
}

TEST_F(CheckpointCommandsTest, WhatIsMissingIsNamed) {
  EXPECT_THAT(RunCheckpoint({{"NAME", "run"}, {"--output", path_}}, context_.Get()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--step")));
  EXPECT_THAT(RunCheckpoint({{"NAME", "run"}, {"--step", "1"}}, context_.Get()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--output")));
  EXPECT_THAT(RunRestore({{"NAME", "run"}}, context_.Get()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--checkpoint")));
  EXPECT_THAT(RunRestore({{"NAME", "run"}, {"--checkpoint", path_}}, context_.Get()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path_)));
}

TEST_F(CheckpointCommandsTest, RestoreSendsTheFileAndShowsTheJob) {
  std::ofstream(path_, std::ios::binary) << Checkpoint().checkpoint();
  v1::Job job;
  job.set_name("again");
  job.set_next_step(8);
  EXPECT_CALL(*context_.connection,
              RestoreJob(Property(&v1::RestoreJobRequest::checkpoint,
                                  Checkpoint().checkpoint())))
      .WillOnce(Return(job));
  const FlagValues values = {
      {"NAME", "again"}, {"--checkpoint", path_}, {"--json", "true"}};
  ASSERT_THAT(RunRestore(values, context_.Get()), IsOk());
  EXPECT_EQ(nlohmann::json::parse(context_.out.text())["next_step"], 8);
}

}  // namespace
}  // namespace evenpack
