#include "server/core/engine/job_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "tests/testing/status_matchers.h"
#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::MakeSpec;
using ::testing::StartsWith;
using testing::StatusIs;

// One token costs as much as 1,500: the attention of 1,500 documents overflows.
WorkloadTable HugeWorkload() {
  const int64_t huge = int64_t{1} << 55;
  return WorkloadTable::Create(LengthCurve::Create(1500, 11, {huge, huge}).value(),
                               LengthCurve::Create(1500, 11, {0, 1500}).value())
      .value();
}

TEST(JobSpecTest, TheDefaultsOfTestsAreValid) {
  for (const PolicyKind kind :
       {PolicyKind::kOriginal, PolicyKind::kFixedGreedy, PolicyKind::kWlb}) {
    EXPECT_THAT(Validate(MakeSpec(kind, 4, 1000)), IsOk());
  }
}

TEST(JobSpecTest, EachFieldIsCheckedByName) {
  struct {
    std::function<void(JobSpec&)> damage;
    std::string message;
  } const cases[] = {
      {[](JobSpec& s) { s.streams.clear(); }, "streams: 0 is not accepted"},
      {[](JobSpec& s) { s.streams[0].name = ""; }, "streams[0].name: '' is not"},
      {[](JobSpec& s) { s.streams[0].name = std::string(257, 'x'); },
       "streams[0].name: 'xxx"},
      {[](JobSpec& s) { s.streams.push_back(s.streams[0]); },
       "streams[1].name: 'a' is not accepted; accepted: a name that no other"},
      {[](JobSpec& s) { s.streams[0].weight = 0; },
       "streams[0].weight: 0 is not accepted; accepted: 1 to 1000000"},
      {[](JobSpec& s) { s.micro_batches = 0; },
       "micro_batches: 0 is not accepted; accepted: 1 to 65536"},
      {[](JobSpec& s) { s.data_parallel = 3; },
       "micro_batches: 4 is not accepted; accepted: a multiple of data_parallel"},
      {[](JobSpec& s) { s.data_parallel = 0; }, "data_parallel: 0 is not"},
      {[](JobSpec& s) { s.context_parallel = 1025; },
       "context_parallel: 1025 is not accepted; accepted: 1 to 1024"},
      {[](JobSpec& s) { s.tensor_parallel = 0; },
       "tensor_parallel: 0 is not accepted; accepted: 1 to 1024"},
      {[](JobSpec& s) { s.pipeline_parallel = 1025; },
       "pipeline_parallel: 1025 is not accepted; accepted: 1 to 1024"},
      {[](JobSpec& s) { s.virtual_pipeline_group = 0; },
       "virtual_pipeline_group: 0 is not accepted; accepted: 1 to 65536"},
      {[](JobSpec& s) {
         s.data_parallel = 2;
         s.virtual_pipeline_group = 4;
       },
       "virtual_pipeline_group: 4 is not accepted; accepted: a divisor of 2, the "
       "micro-batches of a data-parallel rank"},
      {[](JobSpec& s) { s.expert_parallel = 65537; },
       "expert_parallel: 65537 is not accepted; accepted: 1 to 65536"},
      {[](JobSpec& s) { s.window = 0; }, "window: 0 is not accepted"},
      {[](JobSpec& s) { s.max_length = 999; },
       "max_length: 999 is not accepted; accepted: 1000 to 2147483647"},
      {[](JobSpec& s) { s.max_length = 2000; },
       "workload.max_tokens: 1500 is not accepted; accepted: at least max_length"},
      {[](JobSpec& s) { s.workload = HugeWorkload(); },
       "workload: a table for 1500 tokens is not accepted; accepted: one by which a "
       "step of 4 micro-batches stays within 2^62 ns"},
      {[](JobSpec& s) { s.policy.kind = static_cast<PolicyKind>(9); },
       "policy.kind: 9 is not accepted; accepted: original, fixed_greedy, wlb "
       "or balanced"},
      {[](JobSpec& s) { s.policy.balanced.release = static_cast<ReleaseMode>(3); },
       "policy.release: 3 is not accepted; accepted: by_workload, by_class or "
       "by_level"},
      {[](JobSpec& s) { s.policy.balanced.delay_price_ppm = 1000001; },
       "policy.delay_price_ppm: 1000001 is not accepted; accepted: 0 to 1000000"},
      {[](JobSpec& s) { s.policy.balanced.token_spread_ppm = 0; },
       "policy.token_spread_ppm: 0 is not accepted; accepted: 1 to 1000000"},
      {[](JobSpec& s) { s.policy.balanced.long_share_spread_ppm = 1000001; },
       "policy.long_share_spread_ppm: 1000001 is not accepted; accepted: 0 to 1000000"},
      {[](JobSpec& s) { s.policy.balanced.attention_error_64ths = 64; },
       "policy.attention_error_64ths: 64 is not accepted; accepted: 0 to 63"},
      {[](JobSpec& s) { s.policy.balanced.virtual_stages = 0; },
       "policy.virtual_stages: 0 is not accepted; accepted: 1 to 1024"},
      {[](JobSpec& s) { s.policy.balanced.sync_domain = static_cast<SyncDomain>(2); },
       "policy.sync_domain: 2 is not accepted; accepted: step or micro_batch"},
      {[](JobSpec& s) { s.policy.balanced.max_in_flight_tokens = 1; },
       "policy.max_in_flight_tokens: 1 is not accepted; accepted: 0 (no bound) or at "
       "least"},
      {[](JobSpec& s) { s.policy.version = 0; }, "policy.version: 0 is not"},
      {[](JobSpec& s) { s.policy.window_batches = 0; },
       "policy.window_batches: 0 is not accepted; accepted: 1 to 1024"},
      {[](JobSpec& s) {
         s.micro_batches = 65536;
         s.policy.window_batches = 17;
       },
       "policy.window_batches: 17 is not accepted; accepted: 1 to 16"},
      {[](JobSpec& s) {
         s.policy.queue_thresholds = {5, 4};
       },
       "queue_thresholds[1]: 4 is not accepted"},
      {[](JobSpec& s) {
         s.policy.kind = PolicyKind::kFixedGreedy;
         s.policy.window_batches = 8;
         s.max_delay = 6;
       },
       "max_delay: 6 is not accepted; accepted: at least 7"},
      {[](JobSpec& s) { s.backlog_limit = -1; },
       "backlog_limit: -1 is not accepted; accepted: 0 to 1000000"},
      {[](JobSpec& s) { s.backlog_limit = std::numeric_limits<double>::quiet_NaN(); },
       "backlog_limit: nan is not accepted"},
      {[](JobSpec& s) { s.sharding = Sharding::kAdaptive; },
       "kernel_latency: an empty table is not accepted"},
      {[](JobSpec& s) { s.sharding = static_cast<Sharding>(7); },
       "sharding: 7 is not accepted"},
      {[](JobSpec& s) { s.retain_checkpoints = 0; },
       "retain_checkpoints: 0 is not accepted; accepted: 1 to 1000"},
      {[](JobSpec& s) { s.max_steps_ahead = 0; }, "max_steps_ahead: 0 is not accepted"},
      {[](JobSpec& s) { s.max_buffered_tokens = 3999; },
       "max_buffered_tokens: 3999 is not accepted; accepted: 0 (four times what a step "
       "can need) or at least 4000, what a step can need"},
      {[](JobSpec& s) {
         s.policy.kind = PolicyKind::kFixedGreedy;
         s.policy.window_batches = 3;
         s.max_buffered_documents = 11999;
       },
       "max_buffered_documents: 11999 is not accepted; accepted: 0 (no bound) or at "
       "least 12000, what a step can need"},
      {[](JobSpec& s) { s.max_buffered_bytes = 255999; },
       "max_buffered_bytes: 255999 is not accepted; accepted: 0 (no bound) or at least "
       "256000, what a step can need"},
      {[](JobSpec& s) { s.description = std::string(1048577, 'x'); },
       "description: 1048577 bytes is not accepted; accepted: 0 to 1048576 bytes"},
  };
  for (const auto& c : cases) {
    JobSpec spec = MakeSpec(PolicyKind::kWlb, 4, 1000);
    c.damage(spec);
    EXPECT_THAT(Validate(spec),
                StatusIs(absl::StatusCode::kInvalidArgument, StartsWith(c.message)));
  }
}

TEST(JobSpecTest, TheLeastBufferLimitsAndTheLongestDescriptionAreAccepted) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 4, 1000);
  spec.virtual_pipeline_group = 4;
  spec.max_buffered_tokens = 4000;
  spec.max_buffered_documents = 4000;
  spec.max_buffered_bytes = 256000;
  spec.description = std::string(1048576, '\0');
  EXPECT_THAT(Validate(spec), IsOk());
}

TEST(JobSpecTest, AnyDelayBoundIsAccepted) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 4, 1000);
  for (const uint64_t delay : {uint64_t{0}, std::numeric_limits<uint64_t>::max()}) {
    spec.max_delay = delay;
    EXPECT_THAT(Validate(spec), IsOk());
  }
}

TEST(JobSpecTest, OptionsOfOtherPoliciesDoNotMatter) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 4, 1000);
  spec.policy.window_batches = 8;
  spec.max_delay = 0;
  EXPECT_THAT(Validate(spec), IsOk());
  EXPECT_EQ(BatchesPerWindow(spec), 1U);
  spec.policy.kind = PolicyKind::kFixedGreedy;
  EXPECT_EQ(BatchesPerWindow(spec), 8U);
  EXPECT_EQ(GlobalBatchTokens(spec), 4000U);
  EXPECT_EQ(WindowTokens(spec), 32000U);
}

TEST(JobSpecTest, WhatIsGivenAnewHasBoundsThatWhatIsKeptMayExceed) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 1, 100);
  spec.streams[0].name = "na\xc3\xafve web";
  EXPECT_THAT(CheckGiven(spec), IsOk());
  spec.streams[0].name = "naïve\x1b[31m";
  EXPECT_THAT(Validate(spec), IsOk());
  EXPECT_THAT(
      CheckGiven(spec),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "streams[0].name: 'na\\xc3\\xafve\\x1b[31m' is not accepted; accepted: "
               "text without control characters"));
  for (const char* name : {"a\xc2\x85", "\xc2\x9b[31m", "\xc2\x80", "\x7f"}) {
    spec.streams[0].name = name;
    EXPECT_EQ(RefusedField(CheckGiven(spec)), "streams[0].name") << name;
  }
  spec.streams[0].name = "\xc2\xa0\xc3\x85";
  EXPECT_THAT(CheckGiven(spec), IsOk());
  spec = MakeSpec(PolicyKind::kWlb, 1024, 100);
  spec.context_parallel = 1024;
  EXPECT_THAT(CheckGiven(spec), IsOk());
  spec.micro_batches = 1025;
  EXPECT_THAT(CheckGiven(spec),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "context_parallel: 1024 is not accepted; accepted: 1 to 1023 "
                       "with 1025 micro-batches a step"));
}

TEST(JobSpecTest, AMaximumByWhichShortDocumentsWouldCountByTheirTokensIsNotGiven) {
  struct Row {
    uint32_t window;
    uint32_t most;
  };
  for (const Row& row : {Row{1, 4096}, Row{63, 4096}, Row{64, 8192},
                         Row{131072, 1 << 24}, Row{200000, 1 << 24}}) {
    JobSpec spec = MakeSpec(PolicyKind::kWlb, 1, row.window);
    spec.max_length = row.most;
    EXPECT_THAT(CheckGiven(spec), IsOk()) << row.window;
    spec.max_length = row.most + 1;
    EXPECT_EQ(RefusedField(CheckGiven(spec)), "max_length") << row.window;
  }
}

TEST(JobSpecTest, AnInterleavedPipelinesGroupThatIsGivenReachesAllStages) {
  JobSpec spec = MakeSpec(PolicyKind::kBalanced, 16, 100);
  spec.data_parallel = 2;
  spec.pipeline_parallel = 4;
  spec.policy.balanced.virtual_stages = 2;
  spec.virtual_pipeline_group = 2;
  EXPECT_THAT(Validate(spec), IsOk());
  EXPECT_THAT(CheckGiven(spec),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "virtual_pipeline_group: 2 is not accepted; accepted: a divisor "
                       "of the 8 micro-batches of a data-parallel rank, at least 4 as "
                       "policy.virtual_stages is 2"));
  spec.virtual_pipeline_group = 4;
  EXPECT_THAT(CheckGiven(spec), IsOk());
  // With fewer micro-batches than stages, all of them.
  spec.pipeline_parallel = 16;
  EXPECT_THAT(CheckGiven(spec),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at least 8 as")));
  spec.virtual_pipeline_group = 8;
  EXPECT_THAT(CheckGiven(spec), IsOk());
  spec.virtual_pipeline_group = 1;
  spec.policy.balanced.virtual_stages = 1;
  EXPECT_THAT(CheckGiven(spec), IsOk());
  // Of other policies it is not read.
  spec.policy.kind = PolicyKind::kWlb;
  spec.policy.balanced.virtual_stages = 2;
  EXPECT_THAT(CheckGiven(spec), IsOk());
}

TEST(JobSpecTest, BoundsThatReleaseByClassDoesNotKeepAreNotGiven) {
  JobSpec spec = MakeSpec(PolicyKind::kBalanced, 4, 100);
  spec.policy.balanced.token_spread_ppm = 50'000;
  spec.policy.balanced.long_share_spread_ppm = 0;
  for (const ReleaseMode release : {ReleaseMode::kByWorkload, ReleaseMode::kByLevel}) {
    spec.policy.balanced.release = release;
    EXPECT_THAT(CheckGiven(spec), IsOk());
  }
  spec.policy.balanced.release = ReleaseMode::kByClass;
  EXPECT_THAT(Validate(spec), IsOk());
  EXPECT_THAT(CheckGiven(spec),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "policy.token_spread_ppm: 50000 ppm is not accepted; accepted: "
                       "none where outliers are released by class"));
  spec.policy.balanced.token_spread_ppm.reset();
  EXPECT_THAT(CheckGiven(spec),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "policy.long_share_spread_ppm: 0 ppm is not accepted; accepted: "
                       "none where outliers are released by class"));
  spec.policy.balanced.long_share_spread_ppm.reset();
  EXPECT_THAT(CheckGiven(spec), IsOk());
}

}  // namespace
}  // namespace evenpack
