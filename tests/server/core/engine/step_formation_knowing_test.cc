#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "server/core/engine/step_formation.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_documents.h"
#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::MakeSpec;
using testing::StatusIs;
using testing::TestJob;

// A job whose steps are formed as a server does, knowing what waits, and as a command
// does.
class KnowingJob {
 public:
  explicit KnowingJob(JobSpec spec) : job_(std::move(spec)) {}

  TestJob& job() { return job_; }
  int known() const { return known_; }
  int awaited() const { return awaited_; }
  int refused() const { return refused_; }

  // All that there are.
  void FormAll() {
    while (FormsOne()) {
    }
  }

 private:
  bool FormsOne() {
    for (; read_ < job_.journal().size(); ++read_) {
      if (!LeavesWaiting(job_.journal()[read_])) knows_ = {};
    }
    known_ += knows_.make_no_step ? 1 : 0;
    awaited_ += knows_.awaited.has_value() ? 1 : 0;
    const auto next = NextStep(job_.state(), &knows_);
    const absl::Status status = job_.Do(FormStep{});
    if (next.ok() && next->has_value()) {
      EXPECT_THAT(status, IsOk());
      EXPECT_EQ((*next)->step.digest, job_.state().position.digest);
    } else if (next.ok()) {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                                   HasSubstr("ingest more documents")));
      EXPECT_TRUE(knows_.make_no_step);
      ++refused_;
    } else {
      EXPECT_EQ(status, next.status());
    }
    return status.ok();
  }

  TestJob job_;
  size_t read_ = 0;
  KnownOfWaiting knows_;
  int known_ = 0;
  int awaited_ = 0;
  int refused_ = 0;
};

// Or takes what isn't durable back.
void Change(uint32_t turn, TestJob& job) {
  const uint64_t next = job.state().position.next_step;
  const uint64_t durable = DurableSteps(job.state());
  if (turn < 10 && next > durable) {
    const Step& last = job.emitted().back().step;
    ASSERT_THAT(job.Do(Acknowledge{0, last.index, last.epoch}), IsOk());
  } else if (turn == 10) {
    UpdateJob update = {next, job.state().spec};
    update.spec.backlog_limit = 4.5 - update.spec.backlog_limit;
    ASSERT_THAT(job.Do(update), IsOk());
  } else if (turn == 11) {
    ASSERT_THAT(job.Do(RewindJob{durable, {}, {}}), IsOk());
  }
}

TEST(StepFormationKnowingTest, ACommandFormsWhatOneWhoKnowsWhatWaitsFinds) {
  for (const PolicyKind policy : {PolicyKind::kOriginal, PolicyKind::kFixedGreedy,
                                  PolicyKind::kWlb, PolicyKind::kBalanced}) {
    SCOPED_TRACE(static_cast<int>(policy));
    JobSpec spec = MakeSpec(policy, 4, 1000);
    spec.policy.window_batches = 2;
    spec.policy.queue_thresholds = {600};
    spec.max_delay = 6;
    spec.max_steps_ahead = 8;
    KnowingJob knowing(spec);
    std::mt19937_64 random(3);
    const std::vector<uint32_t> lengths =
        testing::SkewedLengths(19, 2000, spec.max_length);
    for (const uint32_t length : lengths) {
      ASSERT_THAT(knowing.job().Ingest({length}), IsOk());
      knowing.FormAll();
      Change(testing::Draw(random, 0, 50), knowing.job());
      knowing.FormAll();
    }
    EXPECT_GT(knowing.known(), 1000);
    EXPECT_GT(knowing.refused(), 1000);
    ASSERT_THAT(knowing.job().End(), IsOk());
    knowing.FormAll();
    EXPECT_GT(knowing.job().state().position.next_step, 10U);
  }
}

// Documents come in any order of the streams, which end one by one.
TEST(StepFormationKnowingTest, SoItIsOfStreamsForWhichTheMergeWaits) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 4, 1000);
  spec.max_steps_ahead = 8;
  for (const char* name : {"b", "c"}) spec.streams.push_back({name, 2});
  KnowingJob knowing(spec);
  std::mt19937_64 random(4);
  for (const uint32_t length : testing::SkewedLengths(20, 3000, spec.max_length)) {
    const auto stream = static_cast<char>('a' + testing::Draw(random, 0, 2));
    ASSERT_THAT(knowing.job().Ingest({length}, std::string(1, stream)), IsOk());
    knowing.FormAll();
    Change(testing::Draw(random, 0, 50), knowing.job());
    knowing.FormAll();
  }
  EXPECT_GT(knowing.awaited(), 100);
  for (const char* name : {"c", "a", "b"}) {
    ASSERT_THAT(knowing.job().End(name), IsOk());
    knowing.FormAll();
  }
  EXPECT_GT(knowing.job().state().position.next_step, 10U);
}

TEST(StepFormationKnowingTest, ItIsKnownForWhichDocumentTheMergeWaits) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 1, 100);
  spec.streams.push_back({"b", 1});
  TestJob job(spec);
  ASSERT_THAT(job.Ingest({30, 30, 30, 30}), IsOk());
  ASSERT_THAT(job.Ingest({10}, "b"), IsOk());
  KnownOfWaiting known;
  EXPECT_EQ(NextStep(job.state(), &known).value(), std::nullopt);
  ASSERT_TRUE(known.awaited.has_value());
  EXPECT_EQ(known.awaited->stream, 1U);
  EXPECT_EQ(known.awaited->next_sequence, 1U);
  ASSERT_THAT(job.End("b"), IsOk());
  EXPECT_TRUE(NextStep(job.state(), &known)->has_value());
}

}  // namespace
}  // namespace evenpack
