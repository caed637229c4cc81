#include "client/cli/online/job_report.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "evenpack/v1/job.pb.h"
#include "evenpack/v1/packing_service.pb.h"

namespace evenpack {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

v1::Job TestJob() {
  v1::Job job;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(name: "run-7" epoch: 2 next_step: 1234 durable_steps: 1000 oldest_step: 999
         digest: "\001\002" waiting_documents: 5 waiting_tokens: 67890 subscribers: 3
         durable_steps_per_rank: [1000, 1200] policy_version: 8
         streams { name: "web" next_sequence: 99519 buffered_documents: 12
                   buffered_tokens: 3456 ended: true
                   skipped { first_sequence: 7 documents: 900 }
                   skipped { first_sequence: 2000 documents: 134 } }
         streams { name: "books" }
         spec { streams { name: "web" weight: 1 } streams { name: "books" weight: 2 }
                parallelism { data: 2 micro_batches_per_rank: 3 context: 4 tensor: 8
                              pipeline: 1 expert: 1 }
                window: 131072 max_length: 196608
                policy { wlb { queue_thresholds: [49152, 98304] } } })",
      &job));
  return job;
}

TEST(JobTextTest, SaysHowFarTheJobHasCome) {
  EXPECT_THAT(
      JobText(TestJob()),
      AllOf(
          HasSubstr("run-7, open, epoch 2\n"),
          HasSubstr("DP 2 x 3 micro-batches of 131,072 tokens, at most 196,608; CP 4, "
                    "TP 8, PP 1, EP 1\n"),
          HasSubstr("1,234 decided, 1,000 durable (by DP rank: 1000 1200), kept from "
                    "999 on\n"),
          HasSubstr("0102\n"), HasSubstr("5 documents, 67,890 tokens"),
          HasSubstr("3 subscriptions"), ContainsRegex("policy +rules of version 8\n")));
}

TEST(JobTextTest, HasARowForEachStreamAndTheSpecAsTextproto) {
  EXPECT_THAT(
      JobText(TestJob()),
      AllOf(
          HasSubstr("web          1         99,519                  12            "
                    "3,456  ended, 1,034 skipped\n"),
          HasSubstr("books        2              0                   0                "
                    "0\n"),
          HasSubstr("\nspec\nstreams {\n  name: \"web\"\n"),
          HasSubstr("queue_thresholds: [49152, 98304]")));
}

// Names of streams may be older than the server's check of them.
TEST(JobTextTest, HasNothingThatATerminalObeys) {
  v1::Job job = TestJob();
  for (std::string* const name :
       {job.mutable_streams(0)->mutable_name(),
        job.mutable_spec()->mutable_streams(0)->mutable_name()}) {
    *name =
        "w\xc2\x9b"
        "2J\xe2\x80\xae\x1b[m";
  }
  const std::string text = JobText(job);
  EXPECT_THAT(text, HasSubstr("w\\xc2\\x9b2J\\xe2\\x80\\xae\\x1b[m  "));
  for (const char* obeyed : {"\xc2\x9b", "\xe2\x80\xae", "\x1b"}) {
    EXPECT_THAT(text, Not(HasSubstr(obeyed)));
  }
}

TEST(JobsTextTest, HasARowForEachJob) {
  v1::Job drained = TestJob();
  drained.set_name("run-8");
  drained.set_drained(true);
  v1::ListJobsResponse listed;
  *listed.add_jobs() = TestJob();
  *listed.add_jobs() = drained;
  v1::BrokenJob& broken = *listed.add_broken_jobs();
  broken.set_name("bad");
  broken.set_error("store: record 7 is damaged");
  const std::string text = JobsText(listed);
  EXPECT_THAT(text, HasSubstr("\nbad is broken: store: record 7 is damaged\n"));
  EXPECT_THAT(text, HasSubstr("run-7  open         2    1,234    1,000        2"));
  EXPECT_THAT(text, HasSubstr("run-8  drained"));
  EXPECT_THAT(JobsText({}), AllOf(HasSubstr("job  state"), Not(HasSubstr("run"))));
}

// Of a server beside two others, of which one can't be reached.
v1::ListJobsResponse SpreadJobs() {
  v1::ListJobsResponse listed;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(jobs { name: "here" } jobs { name: "there" }
         broken_jobs { name: "away" error: "led by c:1: connection refused" }
         broken_jobs { name: "bad" error: "damaged" }
         led_elsewhere { name: "away" address: "c:1" }
         led_elsewhere { name: "there" address: "b:1" })",
      &listed));
  return listed;
}

TEST(JobsTextTest, SaysWhichServerLeadsAJobAndWhichCannotBeAsked) {
  const std::string text = JobsText(SpreadJobs());
  EXPECT_THAT(text, HasSubstr("  led elsewhere\n"));
  EXPECT_THAT(text, HasSubstr("  b:1\n"));
  EXPECT_THAT(text, HasSubstr("\naway can't be shown: led by c:1: connection refused\n"
                              "bad is broken: damaged\n"));
}

TEST(JobJsonTest, SaysWhichServerLeadsAJobAndWhichCannotBeAsked) {
  const auto jobs = nlohmann::json::parse(JobsJson(SpreadJobs()));
  EXPECT_FALSE(jobs["jobs"][0].contains("address"));
  EXPECT_EQ(jobs["jobs"][1]["address"], "b:1");
  EXPECT_EQ(jobs["broken_jobs"][0],
            nlohmann::json({{"name", "away"},
                            {"error", "led by c:1: connection refused"},
                            {"address", "c:1"}}));
  EXPECT_FALSE(jobs["broken_jobs"][1].contains("address"));
}

TEST(JobJsonTest, HasTheFieldsOfTheApi) {
  const auto job = nlohmann::json::parse(JobJson(TestJob()));
  EXPECT_EQ(job["name"], "run-7");
  EXPECT_EQ(job["digest"], "0102");
  EXPECT_EQ(job["streams"][0]["next_sequence"], 99519);
  EXPECT_EQ(job["spec"]["policy"]["wlb"]["queue_thresholds"][1], 98304);
  EXPECT_EQ(job["drained"], false);
  v1::ListJobsResponse listed;
  *listed.add_jobs() = TestJob();
  listed.add_broken_jobs()->set_name("bad");
  const auto jobs = nlohmann::json::parse(JobsJson(listed));
  EXPECT_EQ(jobs["broken_jobs"][0]["name"], "bad");
  EXPECT_EQ(jobs["jobs"].size(), 1U);
  EXPECT_EQ(jobs["jobs"][0], job);
  EXPECT_EQ(JobsJson({}), "{\n  \"jobs\": [],\n  \"broken_jobs\": []\n}\n");
}

}  // namespace
}  // namespace evenpack
