#include "client/cli/online/rewind_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
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
using ::testing::DoAll;
using ::testing::HasSubstr;
using ::testing::Return;
using ::testing::SaveArg;

class RewindCommandsTest : public ::testing::Test {
 protected:
  static v1::Job Held() {
    v1::Job job;
    job.set_name("run");
    job.set_epoch(4);
    job.mutable_spec()->set_window(1000);
    job.mutable_spec()->add_streams()->set_name("web");
    return job;
  }
  void ExpectLookedUp() {
    EXPECT_CALL(*context_.connection, GetJob("run")).WillOnce(Return(Held()));
  }
  // What RunRewind asks for.
  v1::RewindJobRequest Rewound(const FlagValues& values) {
    v1::RewindJobRequest request;
    EXPECT_CALL(*context_.connection, RewindJob)
        .WillOnce(DoAll(SaveArg<0>(&request), Return(Held())));
    EXPECT_THAT(RunRewind(values, context_.Get()), IsOk());
    return request;
  }

  TestContext context_;
  ScratchDirectory directory_;
};

TEST_F(RewindCommandsTest, RewindAsksForTheStepInTheEpochThatItRead) {
  ExpectLookedUp();
  const v1::RewindJobRequest request = Rewound({{"NAME", "run"},
                                                {"--from-step", "0"},
                                                {"--skip", "web:5:10,code:0:1"},
                                                {"--json", "true"}});
  EXPECT_EQ(request.name(), "run");
  EXPECT_EQ(request.target_case(), v1::RewindJobRequest::kFromStep);
  EXPECT_EQ(request.from_step(), 0U);
  EXPECT_EQ(request.expected_epoch(), 4U);
  EXPECT_FALSE(request.has_spec());
  ASSERT_EQ(request.skip_size(), 2);
  EXPECT_EQ(request.skip(1).stream(), "code");
  EXPECT_EQ(nlohmann::json::parse(context_.out.text())["epoch"], 4);
}

TEST_F(RewindCommandsTest, FlagsOfTheSpecChangeTheJobsSpec) {
  ExpectLookedUp();
  const v1::RewindJobRequest request = Rewound({{"NAME", "run"},
                                                {"--from-step", "7"},
                                                {"--expected-epoch", "3"},
                                                {"--dp", "8"}});
  EXPECT_EQ(request.expected_epoch(), 3U);
  EXPECT_EQ(request.spec().window(), 1000U);
  EXPECT_EQ(request.spec().parallelism().data(), 8U);
}

TEST_F(RewindCommandsTest, RewindSendsACheckpoint) {
  ExpectLookedUp();
  const std::string path = directory_.File("checkpoint");
  std::ofstream(path) << "state";
  const v1::RewindJobRequest request =
      Rewound({{"NAME", "run"}, {"--checkpoint", path}});
  EXPECT_EQ(request.checkpoint(), "state");
}

TEST_F(RewindCommandsTest, ForkNamesBothJobsAndTheStep) {
  v1::ForkJobRequest request;
  EXPECT_CALL(*context_.connection, ForkJob)
      .WillOnce(DoAll(SaveArg<0>(&request), Return(Held())));
  ASSERT_THAT(
      RunFork({{"NAME", "run"}, {"--as", "run-b"}, {"--step", "41"}}, context_.Get()),
      IsOk());
  EXPECT_EQ(request.name(), "run");
  EXPECT_EQ(request.new_name(), "run-b");
  EXPECT_EQ(request.step(), 41U);
  EXPECT_THAT(context_.out.text(), HasSubstr("run, open, epoch 4"));
}

TEST_F(RewindCommandsTest, SkipNeedsNoEpochWhereItWithdrawsNothing) {
  v1::SkipDocumentsRequest request;
  EXPECT_CALL(*context_.connection, SkipDocuments)
      .Times(2)
      .WillRepeatedly(DoAll(SaveArg<0>(&request), Return(Held())));
  FlagValues values = {{"NAME", "run"}, {"--documents", "web:5:10"}};
  ASSERT_THAT(RunSkip(values, context_.Get()), IsOk());
  EXPECT_FALSE(request.has_from_step());
  EXPECT_FALSE(request.has_expected_epoch());
  EXPECT_EQ(request.skip(0).documents(), 10U);
  ExpectLookedUp();
  values["--from-step"] = "12";
  ASSERT_THAT(RunSkip(values, context_.Get()), IsOk());
  EXPECT_EQ(request.from_step(), 12U);
  EXPECT_EQ(request.expected_epoch(), 4U);
}

TEST_F(RewindCommandsTest, WhatIsMissingOrWrongIsNamedBeforeTheServerIsAsked) {
  const std::string path = directory_.File("checkpoint");
  std::ofstream(path) << "state";
  const struct {
    absl::Status (*run)(const FlagValues&, const OnlineContext&);
    FlagValues values;
    const char* message;
  } cases[] = {
      {RunRewind, {{"NAME", "run"}}, "--from-step K or --checkpoint"},
      {RunRewind,
       {{"NAME", "run"}, {"--from-step", "1"}, {"--checkpoint", path}},
       "one of the two"},
      {RunRewind, {{"NAME", "run"}, {"--from-step", "x"}}, "--from-step"},
      {RunRewind, {{"NAME", "run"}, {"--checkpoint", path + "x"}}, "--checkpoint"},
      {RunRewind,
       {{"NAME", "run"}, {"--checkpoint", path}, {"--dp", "2"}},
       "a checkpoint has its own spec"},
      {RunRewind,
       {{"NAME", "run"}, {"--from-step", "1"}, {"--skip", "web"}},
       "--skip: 'web'"},
      {RunRewind, {{"NAME", "run"}, {"--from-step", "1"}, {"--dp", "x"}}, "--dp"},
      {RunFork, {{"NAME", "run"}, {"--step", "1"}}, "--as"},
      {RunFork, {{"NAME", "run"}, {"--as", "b"}}, "--step"},
      {RunSkip, {{"NAME", "run"}}, "--documents"},
      {RunSkip, {{"NAME", "run"}, {"--documents", "web:1"}}, "--documents: 'web:1'"},
  };
  for (const auto& each : cases) {
    EXPECT_THAT(each.run(each.values, context_.Get()),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(each.message)));
  }
}

}  // namespace
}  // namespace evenpack
