#include "client/cli/online/jobs_commands.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "evenpack/v1/job.pb.h"
#include "tests/client/cli/online/test_context.h"
#include "tests/testing/scratch_path.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::kInvalid;
using ::evenpack::testing::ScratchFile;
using ::evenpack::testing::StatusIs;
using ::evenpack::testing::TestContext;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Return;

v1::JobSpec Spec(const std::string& textproto) {
  v1::JobSpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(textproto, &spec));
  return spec;
}

v1::Job Job(const std::string& spec) {
  v1::Job job;
  job.set_name("run-7");
  job.set_epoch(3);
  *job.mutable_spec() = Spec(spec);
  return job;
}

std::string SpecFile(const std::string& text) {
  return ScratchFile("jobs_commands_test.textproto", text);
}

class JobsCommandsTest : public ::testing::Test {
 protected:
  // The spec that `create` sends.
  std::string Created(const FlagValues& values) {
    v1::CreateJobRequest request;
    EXPECT_CALL(*context_.connection, CreateJob)
        .WillOnce([&request](const v1::CreateJobRequest& sent) {
          request = sent;
          v1::Job job;
          job.set_name(sent.name());
          return job;
        });
    EXPECT_THAT(RunJobsCreate(values, context_.Get()), IsOk());
    EXPECT_EQ(request.name(), "run-7");
    return request.spec().DebugString();
  }
  // What `update` sends for a job with the spec `before`.
  v1::UpdateJobRequest Updated(const FlagValues& values, const std::string& before) {
    v1::UpdateJobRequest request;
    EXPECT_CALL(*context_.connection, GetJob("run-7")).WillOnce(Return(Job(before)));
    EXPECT_CALL(*context_.connection, UpdateJob)
        .WillOnce([&request](const v1::UpdateJobRequest& sent) {
          request = sent;
          return Job("");
        });
    EXPECT_THAT(RunJobsUpdate(values, context_.Get()), IsOk());
    EXPECT_EQ(request.name(), "run-7");
    return request;
  }

  TestContext context_;
};

TEST_F(JobsCommandsTest, CreateSendsWhatTheFlagsSayAndNoMore) {
  EXPECT_EQ(Created({{"NAME", "run-7"},
                     {"--window", "1000"},
                     {"--dp", "2"},
                     {"--micro-batches", "3"},
                     {"--policy", "wlb"},
                     {"--queue-thresholds", "300,600"}}),
            Spec("streams { name: 'default' } window: 1000 "
                 "parallelism { data: 2 micro_batches_per_rank: 3 } "
                 "policy { wlb { queue_thresholds: [300, 600] } }")
                .DebugString());
  EXPECT_THAT(context_.out.text(), HasSubstr("run-7, open, epoch 0"));
  EXPECT_THAT(context_.servers, ElementsAre("127.0.0.1:7654"));
}

TEST_F(JobsCommandsTest, CreateTakesAFileAndChangesInItWhatFlagsName) {
  const std::string file =
      SpecFile("streams { name: 'web' } window: 1000 max_length: 1500");
  EXPECT_EQ(
      Created({{"NAME", "run-7"},
               {"--spec", file},
               {"--max-length", "2000"},
               {"--server", "packer:1"}}),
      Spec("streams { name: 'web' } window: 1000 max_length: 2000").DebugString());
  EXPECT_THAT(context_.servers, ElementsAre("packer:1"));
}

TEST_F(JobsCommandsTest, CreateNotesFlagsWithoutEffect) {
  Created({{"NAME", "run-7"}, {"--window", "1000"}, {"--window-batches", "3"}});
  EXPECT_EQ(context_.err.text(),
            "evenpackctl: note: --window-batches has no effect here\n");
}

TEST_F(JobsCommandsTest, CreateRefusesBadInputBeforeItConnects) {
  const std::vector<std::pair<FlagValues, std::string>> cases = {
      {{{"--window", "5"}}, "NAME is missing; accepted: the job's name"},
      {{{"NAME", "a"}}, "--window is missing"},
      {{{"NAME", "a"}, {"--window", "0"}}, "--window: '0'"},
      {{{"NAME", "a"}, {"--spec", SpecFile("widow: 1")}}, "line 1, column 6"},
  };
  for (const auto& [values, message] : cases) {
    EXPECT_THAT(RunJobsCreate(values, context_.Get()),
                StatusIs(kInvalid, HasSubstr(message)));
  }
  EXPECT_THAT(context_.servers, ::testing::IsEmpty());
}

TEST_F(JobsCommandsTest, CreateGivesTheServersRefusal) {
  EXPECT_CALL(*context_.connection, CreateJob)
      .WillOnce(Return(absl::AlreadyExistsError("job run-7 exists")));
  EXPECT_THAT(RunJobsCreate({{"NAME", "run-7"}, {"--window", "5"}}, context_.Get()),
              StatusIs(absl::StatusCode::kAlreadyExists, "job run-7 exists"));
  EXPECT_EQ(context_.out.text(), "");
}

v1::ListJobsResponse Listed() {
  v1::ListJobsResponse listed;
  *listed.add_jobs() = Job("");
  return listed;
}

TEST_F(JobsCommandsTest, ListWritesEveryJob) {
  EXPECT_CALL(*context_.connection, ListJobs()).WillRepeatedly(Return(Listed()));
  EXPECT_THAT(RunJobsList({}, context_.Get()), IsOk());
  EXPECT_THAT(context_.out.text(), HasSubstr("run-7  open       3"));
  TestContext json;
  EXPECT_CALL(*json.connection, ListJobs()).WillOnce(Return(Listed()));
  EXPECT_THAT(RunJobsList({{"--json", "true"}}, json.Get()), IsOk());
  EXPECT_EQ(nlohmann::json::parse(json.out.text())["jobs"][0]["name"], "run-7");
}

TEST_F(JobsCommandsTest, DescribeWritesTheJob) {
  EXPECT_CALL(*context_.connection, GetJob("run-7"))
      .WillOnce(Return(Job("window: 1000")));
  EXPECT_THAT(RunJobsDescribe({{"NAME", "run-7"}, {"--json", "true"}}, context_.Get()),
              IsOk());
  EXPECT_EQ(nlohmann::json::parse(context_.out.text())["spec"]["window"], 1000);
  EXPECT_THAT(RunJobsDescribe({}, context_.Get()),
              StatusIs(kInvalid, HasSubstr("NAME is missing")));
}

TEST_F(JobsCommandsTest, UpdateChangesOnlyWhatFlagsNameInTheJobsSpec) {
  const v1::UpdateJobRequest request = Updated(
      {{"NAME", "run-7"}, {"--cp", "4"}, {"--from-step", "9"}},
      "streams { name: 'web' } window: 1000 parallelism { data: 2 context: 2 }");
  EXPECT_EQ(request.spec().DebugString(), Spec("streams { name: 'web' } window: 1000 "
                                               "parallelism { data: 2 context: 4 }")
                                              .DebugString());
  EXPECT_EQ(request.from_step(), 9U);
  // That of the spec it was made from.
  EXPECT_EQ(request.expected_epoch(), 3U);
}

TEST_F(JobsCommandsTest, UpdateTakesAFileInPlaceOfTheJobsSpec) {
  const v1::UpdateJobRequest request = Updated(
      {{"NAME", "run-7"},
       {"--spec", SpecFile("window: 500 parallelism { tensor: 8 }")},
       {"--dp", "4"},
       {"--expected-epoch", "2"}},
      "streams { name: 'web' } merge: MERGE_MODE_ARRIVAL window: 1000 max_length: 9");
  EXPECT_EQ(request.spec().DebugString(),
            Spec("streams { name: 'web' } merge: MERGE_MODE_ARRIVAL window: 500 "
                 "parallelism { data: 4 tensor: 8 }")
                .DebugString());
  EXPECT_FALSE(request.has_from_step());
  EXPECT_EQ(request.expected_epoch(), 2U);
}

TEST_F(JobsCommandsTest, UpdateToWhatTheJobHasLeavesItAndItsSubscriptions) {
  v1::Job job;
  job.set_name("run-7");
  job.set_epoch(3);
  *job.mutable_spec() = Spec("streams { name: 'web' } window: 1000");
  EXPECT_CALL(*context_.connection, GetJob("run-7")).WillRepeatedly(Return(job));
  EXPECT_CALL(*context_.connection, UpdateJob).Times(0);
  for (const FlagValues& values :
       {FlagValues{{"NAME", "run-7"}, {"--window", "1000"}},
        FlagValues{{"NAME", "run-7"}, {"--spec", SpecFile("window: 1000")}}}) {
    EXPECT_THAT(RunJobsUpdate(values, context_.Get()), IsOk());
  }
  EXPECT_THAT(context_.err.text(), HasSubstr("the job stays as it is"));
  EXPECT_THAT(context_.out.text(), HasSubstr("epoch 3"));
}

TEST_F(JobsCommandsTest, UpdateToWhatTheJobHasIsTheServersToRefuseInAnotherEpoch) {
  const v1::UpdateJobRequest request =
      Updated({{"NAME", "run-7"}, {"--window", "1000"}, {"--expected-epoch", "2"}},
              "window: 1000");
  EXPECT_EQ(request.expected_epoch(), 2U);
}

TEST_F(JobsCommandsTest, UpdateTakesANamedProfileAnewAndGoesBackAsAsked) {
  const std::string before = "window: 1000 cost { profile: 'p' }";
  EXPECT_EQ(Updated({{"NAME", "run-7"}, {"--window", "1000"}}, before).name(), "run-7");
  EXPECT_EQ(
      Updated({{"NAME", "run-7"}, {"--window", "9"}, {"--from-step", "4"}}, "window: 9")
          .from_step(),
      4U);
}

TEST_F(JobsCommandsTest, UpdateNeedsAChangeAndReadsItBeforeItConnects) {
  const std::vector<std::pair<FlagValues, std::string>> cases = {
      {{{"NAME", "a"}, {"--json", "true"}, {"--expected-epoch", "1"}},
       "jobs update: no change is given"},
      {{{"--window", "5"}}, "NAME is missing"},
      {{{"NAME", "a"}, {"--window", "0"}}, "--window: '0'"},
      {{{"NAME", "a"}, {"--from-step", "x"}}, "--from-step: 'x'"},
      {{{"NAME", "a"}, {"--spec", "/no/such/file"}}, "--spec: '/no/such/file'"},
  };
  for (const auto& [values, message] : cases) {
    EXPECT_THAT(RunJobsUpdate(values, context_.Get()),
                StatusIs(kInvalid, HasSubstr(message)));
  }
  EXPECT_THAT(context_.servers, ::testing::IsEmpty());
}

TEST_F(JobsCommandsTest, DeleteSaysThatItDid) {
  EXPECT_CALL(*context_.connection, DeleteJob("run-7"))
      .WillOnce(Return(absl::OkStatus()))
      .WillOnce(Return(absl::OkStatus()))
      .WillOnce(Return(absl::NotFoundError("no job run-7")));
  EXPECT_THAT(RunJobsDelete({{"NAME", "run-7"}}, context_.Get()), IsOk());
  EXPECT_THAT(RunJobsDelete({{"NAME", "run-7"}, {"--json", "true"}}, context_.Get()),
              IsOk());
  EXPECT_EQ(context_.out.text(),
            "deleted job run-7\n{\n  \"name\": \"run-7\",\n  \"deleted\": true\n}\n");
  EXPECT_THAT(RunJobsDelete({{"NAME", "run-7"}}, context_.Get()),
              StatusIs(absl::StatusCode::kNotFound, "no job run-7"));
}

}  // namespace
}  // namespace evenpack
