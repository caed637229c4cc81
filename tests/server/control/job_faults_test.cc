// Whatever the store does, each document that was accepted is emitted exactly once, in
// the steps of a run without faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "server/control/job.h"
#include "tests/server/control/emitted_documents.h"
#include "tests/server/control/small_job.h"
#include "tests/testing/awaited.h"
#include "tests/testing/control_room.h"
#include "tests/testing/follower.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

using testing::Awaited;
using testing::ControlRoom;
using testing::Describe;
using testing::Do;
using testing::Draw;
using testing::Follower;
using testing::Open;
using testing::OutlierJob;
using testing::RandomLengths;
using testing::TokensOf;

// Sends all of a stream, several batches under way at a time, from wherever the job
// stands after each failure.
class StubbornProducer {
 public:
  StubbornProducer(ControlRoom& room, Job& job, std::vector<uint32_t> lengths,
                   uint64_t seed)
      : room_(room), job_(job), lengths_(std::move(lengths)), random_(seed) {}

  void SendAll() {
    while (true) {
      const auto position = Open(job_);
      if (!position.ok()) continue;
      if (!SendFrom(position->next_sequence)) continue;
      if (Do(job_, EndOfStream{"a", lengths_.size()}).ok()) return;
    }
  }
  int failures() const { return failures_; }

 private:
  bool SendFrom(uint64_t next) {
    std::vector<Awaited<absl::Status>> answers;
    while (next < lengths_.size() && answers.size() < 5) {
      const uint64_t count =
          std::min<uint64_t>(Draw(random_, 1, 20), lengths_.size() - next);
      Ingest batch;
      batch.stream = "a";
      batch.first_sequence = next;
      batch.lengths.assign(lengths_.begin() + static_cast<ptrdiff_t>(next),
                           lengths_.begin() + static_cast<ptrdiff_t>(next + count));
      if (Draw(random_, 0, 7) == 0) {
        room_.store().FailCommits(2, static_cast<int>(Draw(random_, 0, 1)));
      }
      job_.Submit(std::move(batch), answers.emplace_back());
      next += count;
    }
    bool failed = false;
    for (const auto& answer : answers) failed |= !answer.Get().ok();
    failures_ += failed ? 1 : 0;
    return !failed && next == lengths_.size();
  }

  ControlRoom& room_;
  Job& job_;
  const std::vector<uint32_t> lengths_;
  std::mt19937_64 random_;
  int failures_ = 0;
};

class JobFaultsTest : public ::testing::TestWithParam<bool> {};

TEST_P(JobFaultsTest, EachDocumentIsEmittedOnceInTheStepsOfARunWithoutFaults) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<uint32_t> lengths = RandomLengths(seed, 1000);
    testing::TestJob faultless(OutlierJob());
    faultless.Run(lengths, seed);

    ControlRoom room(/*commit_waits=*/GetParam());
    const auto job = room.MakeJob(OutlierJob());
    Follower follower(job);
    StubbornProducer producer(room, *job, lengths, seed);
    producer.SendAll();
    const auto steps = follower.TakeAll();
    EXPECT_GT(producer.failures(), 3);
    EXPECT_EQ(TokensOf(steps), TokensOf({lengths}));
    EXPECT_EQ(steps.back()->step.digest, faultless.state().position.digest);
    EXPECT_EQ(Describe(*job)->digest, faultless.state().position.digest);
    EXPECT_EQ(Describe(*room.RecoverJob())->digest, Describe(*job)->digest);
  }
}

INSTANTIATE_TEST_SUITE_P(CommitWaits, JobFaultsTest, ::testing::Bool());

}  // namespace
}  // namespace evenpack
