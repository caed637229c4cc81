#include "client/cli/top/top_frames.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_join.h"
#include "evenpack/v1/observation.pb.h"
#include "evenpack/v1/packing_service.pb.h"

namespace evenpack {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;
using ::testing::StartsWith;

template <typename Message>
Message Parsed(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

// A job of four micro-batches after three steps.
v1::ObserveJobResponse SomeJob() {
  return Parsed<v1::ObserveJobResponse>(R"pb(
    job {
      name: "run-7"
      epoch: 1
      next_step: 1203
      durable_steps: 1100
      oldest_step: 1100
      subscribers: 3
    }
    steps {
      index: 1201
      kind: STEP_KIND_FULL_BATCH
      workload_ns: [ 100000000, 100000000, 110000000, 90000000 ]
      tokens: [ 120000, 121000, 122000, 99000 ]
      original_workload_ns: [ 200000000, 90000000, 80000000, 30000000 ]
      original_tokens: [ 131072, 131000, 130000, 50000 ]
      imbalance: 1.1
      original_imbalance: 2.0
    }
    steps {
      index: 1202
      kind: STEP_KIND_BACKLOG
      workload_ns: [ 50000000, 50000000, 50000000, 50000000 ]
      tokens: [ 60000, 61000, 62000, 49000 ]
      imbalance: 1
      queue_documents: [ 3, 1 ]
      queue_tokens: [ 150000, 110000 ]
      left_over_documents: 12
      left_over_tokens: 34567
    }
    totals {
      full_steps: 1150
      original_full_steps: 1201
      weighted_imbalance: 1.0325
      original_weighted_imbalance: 1.521
      documents: 99431
      tokens: 393524829
      mean_step_tokens: 533954.99
      step_tokens_cv: 0.23
      delay_bounds: [ 0, 1, 3 ]
      delay_documents: [ 900, 90, 9, 1 ]
      step_wait_seconds: 2.5
      steps_taken: 1000
    }
    queues { threshold: 49152 documents: 3 tokens: 150000 oldest_batches: 2 }
    queues { threshold: 98304 documents: 1 tokens: 110000 oldest_batches: 14 }
    subscribers {
      dp_rank: 1
      cp_rank: 0
      subscriber: "slow\x1b[31m"
      sends_durable: true
      received_steps: 1150
      lag_steps: 53
      unused_credits: 0
    }
    subscribers {
      dp_rank: 0
      subscriber: "node-0"
      received_steps: 1203
      unused_credits: 16
    }
    producers: 2
  )pb");
}

std::string Frame(const FrameStyle& style) {
  return absl::StrJoin(JobFrame(SomeJob(), style), "\n") + "\n";
}

TEST(TopFramesTest, AJobOn80Columns) {
  EXPECT_EQ(Frame({80, 40, false, true}),
            R"(run-7  epoch 1, 1,203 steps decided, 1,100 durable, 103 kept
imbalance       1.032 over 1,150 full steps; original 1.521 over 1,201
tokens          533,955 a step, CV 0.230; 393,524,829 in 99,431 documents
trainers        2 producers, 3 subscribers; waited 2.5 ms a step over 1,000
steps           mean + slowest, behind them original's         imbal'ce original
   1202 backlog ████████████                                      1.000
   1201         ███████████████████████▓▓░░░░░░░░░░░░░░░░░░░░░    1.100    2.000
step 1202       by micro-batch                  workload     tokens     original
              0 ██████████████████████████       50.0 ms     60,000
              1 ██████████████████████████       50.0 ms     61,000
              2 ██████████████████████████       50.0 ms     62,000
              3 ██████████████████████████       50.0 ms     49,000
waiting         documents      tokens  oldest, in global batches
  49,152 tokens+         3     150,000       2
  98,304 tokens+         1     110,000      14
    in no queue        12      34,567
delay           documents, by global batches after their own
              0 ████████████████████████████████████████           900   90.000%
              1 ████                                                90    9.000%
         2 to 3 █                                                    9    0.900%
         over 3 █                                                    1    0.100%
subscribers        lag  received  credits  name
dp 1 cp 0           53     1,150        0  slow?[31m, durable
dp 0                 0     1,203       16  node-0
)");
}

TEST(TopFramesTest, ASmallTerminalHasWhatMattersMost) {
  EXPECT_EQ(Frame({60, 12, false, false}),
            R"(run-7  epoch 1, 1,203 steps decided, 1,100 durable, 103 kept
imbalance       1.032 over 1,150 full steps; original 1.521
tokens          533,955 a step, CV 0.230; 393,524,829 in 99,
trainers        2 producers, 3 subscribers; waited 2.5 ms a
steps           mean + slowest, behind them original's imbal
   1202 backlog #######                       1.000
step 1202       by micro-batch      workload     tokens
              0 ######       50.0 ms     60,000
waiting         documents      tokens  oldest, in global bat
  49,152 tokens+         3     150,000       2
delay           documents, by global batches after their own
              0 ####################           900   90.000%
)");
}

TEST(TopFramesTest, NoFrameIsLargerThanItsTerminal) {
  for (const size_t columns : {1U, 10U, 17U, 40U, 80U, 200U}) {
    for (const size_t rows : {0U, 1U, 5U, 24U, 100U}) {
      const auto lines = JobFrame(SomeJob(), {columns, rows, false, false});
      EXPECT_LE(lines.size(), rows);
      for (const std::string& line : lines) EXPECT_LE(line.size(), columns) << line;
    }
  }
}

TEST(TopFramesTest, AJobWithoutStepsSaysSo) {
  v1::ObserveJobResponse observed;
  observed.mutable_job()->set_name("new");
  EXPECT_THAT(JobFrame(observed, {80, 24, false, false}),
              ElementsAre("new  epoch 0, 0 steps decided, 0 durable, 0 kept",
                          "imbalance       no full step since the server started",
                          "tokens          0 in 0 documents",
                          "trainers        0 producers, 0 subscribers"));
}

TEST(TopFramesTest, JobsAreATable) {
  const auto jobs = Parsed<v1::ListJobsResponse>(R"pb(
    jobs {
      name: "a-longer-name"
      epoch: 2
      next_step: 1203
      durable_steps: 1100
      waiting_documents: 51
      subscribers: 8
    }
    jobs { name: "b" drained: true }
    broken_jobs { name: "c" error: "the store has lost it" }
  )pb");
  EXPECT_EQ(
      absl::StrJoin(JobsFrame(jobs, {80, 24, false, false}), "\n"),
      "job            epoch      steps    durable   waiting subscribers\n"
      "a-longer-name      2      1,203      1,100        51           8\n"
      "b                  0          0          0         0           0  drained\n"
      "c              the store has lost it");
  EXPECT_THAT(
      JobsFrame(jobs, {80, 3, false, false}),
      ElementsAre(StartsWith("job"), StartsWith("a-longer-name"), "and 2 more"));
  EXPECT_THAT(JobsFrame(jobs, {30, 24, false, false}), Each(SizeIs(::testing::Le(30))));
  EXPECT_THAT(JobsFrame({}, {80, 24, false, false}), ElementsAre("no job"));
}

}  // namespace
}  // namespace evenpack
