// The journal alone gives the state back, and the same documents give the same digest,
// with any compiler: the digests below are compared by every build of this test.
#include "server/core/engine/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/core/engine/apply.h"
#include "server/core/engine/event_codec.h"
#include "server/core/engine/state_codec.h"
#include "tests/testing/given_lengths.h"
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

JobState StateAfter(const std::vector<Event>& journal) {
  JobState state;
  for (const Event& event : journal) Apply(event, state);
  return state;
}

std::vector<JobSpec> ReplayedSpecs() {
  JobSpec wlb = MakeSpec(PolicyKind::kWlb, 4, 131072);
  wlb.policy.queue_thresholds = {49152, 98304};
  JobSpec bounded = wlb;
  bounded.max_delay = 8;
  JobSpec original = MakeSpec(PolicyKind::kOriginal, 4, 131072);
  JobSpec split = original;
  split.policy.split_documents = true;
  JobSpec fixed = MakeSpec(PolicyKind::kFixedGreedy, 4, 131072);
  fixed.policy.window_batches = 4;
  const JobSpec balanced = MakeSpec(PolicyKind::kBalanced, 4, 131072);
  JobSpec even = balanced;
  even.policy.balanced.token_spread_ppm = 50'000;
  JobSpec by_class = balanced;
  by_class.policy.balanced.release = ReleaseMode::kByClass;
  JobSpec long_share = even;
  long_share.policy.balanced.long_share_spread_ppm = 200'000;
  JobSpec placed = MakeSpec(PolicyKind::kBalanced, 16, 131072);
  placed.data_parallel = 2;
  placed.pipeline_parallel = 4;
  placed.max_delay = 8;
  return {wlb,      bounded, original, split,      fixed,
          balanced, even,    by_class, long_share, placed};
}

TEST(ReplayTest, TheJournalGivesTheStateBack) {
  const std::vector<uint32_t> lengths = testing::SkewedLengths(31, 8000, 131072);
  for (const JobSpec& spec : ReplayedSpecs()) {
    TestJob job(spec);
    job.Run(lengths, 1);
    EXPECT_EQ(StateAfter(job.journal()), job.state());
    EXPECT_EQ(EncodeState(StateAfter(job.journal())), EncodeState(job.state()));
  }
}

TEST(ReplayTest, UpdatesAndMarksReplay) {
  TestJob job(ReplayedSpecs()[0]);
  ASSERT_THAT(job.Ingest(testing::SkewedLengths(32, 5000, 131072)), IsOk());
  job.FormAll().IgnoreError();
  ASSERT_THAT(job.Do(Acknowledge{0, 3}), IsOk());
  ASSERT_THAT(job.Do(UpdateJob{6, ReplayedSpecs()[4]}), IsOk());
  job.FormAll().IgnoreError();
  ASSERT_THAT(job.Do(UpdateJob{5, ReplayedSpecs()[1]}), IsOk());
  job.FormAll().IgnoreError();
  EXPECT_EQ(StateAfter(job.journal()), job.state());
}

TEST(ReplayTest, GroupingInMessagesDoesNotMatter) {
  const std::vector<uint32_t> lengths = testing::SkewedLengths(33, 8000, 131072);
  for (const JobSpec& spec : ReplayedSpecs()) {
    TestJob first(spec);
    first.Run(lengths, 1);
    TestJob second(spec);
    second.Run(lengths, 2);
    ASSERT_EQ(first.emitted().size(), second.emitted().size());
    for (size_t k = 0; k < first.emitted().size(); ++k) {
      ASSERT_EQ(first.emitted()[k].step, second.emitted()[k].step);
    }
  }
}

TEST(ReplayTest, DigestsOnTheGivenLengthsAreThoseOfEveryOtherBuild) {
  const std::vector<uint32_t> lengths = testing::GivenLengths();
  ASSERT_EQ(lengths.size(), 99519U);
  const std::vector<std::string> expected = {
      "936c97d102902c3d8e090d4d4b9b2c76", "b1b5bbcacf07a3b2652b27f7effb657c",
      "6291a33a7236895f3964bb71bf714039", "57e473910c21943cc49eaaf36fca38ee",
      "3b81318866c06a7b586974e3a1cc13c9", "143aca47e1ee4632697bfc2133de5826",
      "8114329ccc119d3c4e84f7ffb0b2cc99", "5c7f813aa654c14dfbceca7e797be0b3",
      "5de861167fecb06eb260bebb2186676b", "2b2dc001e3785ff69599dd3f43dd7b8e"};
  const std::vector<JobSpec> specs = ReplayedSpecs();
  ASSERT_EQ(specs.size(), expected.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    TestJob job(specs[i]);
    job.Run(lengths, 1);
    EXPECT_EQ(ToHex(job.state().position.digest), expected[i]) << i;
  }
}

TEST(ReplayTest, ASnapshotAndTheRecordsBehindItGiveTheStateBack) {
  TestJob job(ReplayedSpecs()[0]);
  job.Run(testing::SkewedLengths(33, 3000, 131072), 1);
  std::vector<std::string> records;
  for (const Event& event : job.journal()) records.push_back(EncodeEvent(event));
  EXPECT_FALSE(Replay("", 0, {})->created);
  JobState state;
  for (size_t i = 0; i < records.size(); ++i) {
    const std::string snapshot = i == 0 ? "" : EncodeState(state);
    if (i % 16 == 0 || i + 1 == records.size()) {
      const auto replayed = Replay(snapshot, i, std::span(records).subspan(i));
      ASSERT_THAT(replayed, IsOk()) << i;
      EXPECT_EQ(*replayed, job.state()) << i;
    }
    Apply(job.journal()[i], state);
  }
}

TEST(ReplayTest, TellsTheEpochOfTheLastStepThatTheRecordsLetGo) {
  TestJob job(ReplayedSpecs()[0]);
  ASSERT_THAT(job.Ingest(testing::SkewedLengths(34, 5000, 131072)), IsOk());
  job.FormAll().IgnoreError();
  ASSERT_THAT(job.Do(UpdateJob{2, ReplayedSpecs()[1]}), IsOk());
  job.FormAll().IgnoreError();
  std::vector<size_t> marks;
  const auto mark = [&](uint64_t step, uint64_t epoch) {
    marks.push_back(job.journal().size());
    ASSERT_THAT(job.Do(Acknowledge{0, step, epoch}), IsOk());
  };
  mark(0, 0);
  mark(4, 1);
  std::vector<std::string> records;
  for (const Event& event : job.journal()) records.push_back(EncodeEvent(event));
  const std::span<const std::string> all(records);
  std::optional<uint64_t> epoch = 7;
  ASSERT_THAT(Replay("", 0, all.first(marks[0]), &epoch), IsOk());
  EXPECT_EQ(epoch, std::nullopt);
  ASSERT_THAT(Replay("", 0, all.first(marks[1]), &epoch), IsOk());
  EXPECT_EQ(epoch, 0U);
  ASSERT_THAT(Replay("", 0, all, &epoch), IsOk());
  EXPECT_EQ(epoch, 1U);
  ASSERT_THAT(Replay(EncodeState(job.state()), all.size(), {}, &epoch), IsOk());
  EXPECT_EQ(epoch, std::nullopt);
}

TEST(ReplayTest, TheRecordThatIsNoneIsNamed) {
  TestJob job(ReplayedSpecs()[0]);
  ASSERT_THAT(job.Ingest({50, 60}), IsOk());
  std::vector<std::string> records;
  for (const Event& event : job.journal()) records.push_back(EncodeEvent(event));
  records.back().pop_back();
  EXPECT_THAT(Replay("", 40, records).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("record 41: event: ")));
  EXPECT_THAT(Replay("x", 0, {}).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("state: ")));
}

}  // namespace
}  // namespace evenpack
