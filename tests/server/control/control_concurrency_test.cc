// Producers, followers, observers, faults and removals at once. Also run under the
// thread sanitizer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/control/job_registry.h"
#include "server/runtime/status_detail.h"
#include "tests/server/control/emitted_documents.h"
#include "tests/server/control/small_job.h"
#include "tests/testing/awaited.h"
#include "tests/testing/control_room.h"
#include "tests/testing/follower.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::Awaited;
using testing::ControlRoom;
using testing::Describe;
using testing::Do;
using testing::DoIngest;
using testing::DoIngestSoon;
using testing::Draw;
using testing::Follower;
using testing::IsOk;
using testing::Open;
using testing::RandomLengths;
using testing::TokensOf;
using Steps = std::vector<std::shared_ptr<const PublishedStep>>;

constexpr uint32_t kLargestBatch = 12;
constexpr char kDoomed[] = "doomed";

// Streams of few documents and few steps ahead, so that producers wait.
JobSpec TightJob() {
  JobSpec spec = testing::SmallJob();
  spec.streams = {{.name = "a"}, {.name = "b"}};
  spec.policy.kind = PolicyKind::kWlb;
  spec.policy.queue_thresholds = {100};
  spec.max_steps_ahead = 3;
  spec.max_buffered_tokens = WindowTokens(spec);
  return spec;
}

template <typename Request>
void UntilItIsStored(Request request) {
  while (true) {
    const absl::Status status = request();
    if (status.ok()) return;
    ASSERT_TRUE(absl::IsUnavailable(status)) << status;
  }
}

// Sends a whole stream batch by batch, waiting for room and going back to where the job
// stands after each failure.
class Producer {
 public:
  Producer(ControlRoom& room, std::shared_ptr<Job> job, std::string stream,
           std::vector<uint32_t> lengths, uint64_t seed)
      : room_(room),
        job_(std::move(job)),
        stream_(std::move(stream)),
        lengths_(std::move(lengths)),
        random_(seed) {}

  void SendAll() {
    const StreamPosition position = OpenWhenStored();
    const size_t place = position.index;
    uint64_t next = position.next_sequence;
    while (next < lengths_.size()) {
      WaitForRoom(place);
      const uint64_t count =
          std::min<uint64_t>(Draw(random_, 1, kLargestBatch), lengths_.size() - next);
      if (Draw(random_, 0, 9) == 0) room_.store().FailCommits(2);
      const absl::Status sent =
          DoIngestSoon(*job_, next,
                       {lengths_.begin() + static_cast<ptrdiff_t>(next),
                        lengths_.begin() + static_cast<ptrdiff_t>(next + count)},
                       stream_);
      if (sent.ok()) {
        next += count;
        continue;
      }
      ASSERT_TRUE(absl::IsUnavailable(sent)) << sent;
      next = OpenWhenStored().next_sequence;
    }
    UntilItIsStored([&] { return Do(*job_, EndOfStream{stream_, lengths_.size()}); });
  }

 private:
  // Others' failing commits can be what this call waits for.
  StreamPosition OpenWhenStored() {
    absl::StatusOr<StreamPosition> position;
    UntilItIsStored([&] {
      position = Open(*job_, stream_);
      return position.status();
    });
    return *position;
  }

  void WaitForRoom(size_t place) {
    const Awaited<bool> room;
    if (job_->WaitForRoom(place, [room] { room(true); }).has_value()) room.Get();
  }

  ControlRoom& room_;
  const std::shared_ptr<Job> job_;
  const std::string stream_;
  const std::vector<uint32_t> lengths_;
  std::mt19937_64 random_;
};

// Takes all steps of a rank and makes each durable.
Steps Follow(const std::shared_ptr<Job>& job, uint32_t rank) {
  SubscribeRequest request;
  request.dp_rank = rank;
  request.credits = 2;
  // While the job is read back after a failure, nobody comes in.
  std::optional<Follower> follower;
  UntilItIsStored([&] { return follower.emplace(job, request).status(); });
  Steps steps;
  while (true) {
    NextMessage next = follower->Take();
    auto* send = std::get_if<SendStep>(&next);
    if (send == nullptr) {
      EXPECT_TRUE(std::holds_alternative<SendDrained>(next)) << next.index();
      return steps;
    }
    const uint64_t index = send->step->step.index;
    EXPECT_EQ(index, steps.size());
    steps.push_back(std::move(send->step));
    EXPECT_THAT(follower->Received(index), IsOk());
    UntilItIsStored([&] { return Do(*job, Acknowledge{rank, index, 0}); });
  }
}

// Looks at all jobs until told to stop.
void Observe(const JobRegistry& registry, const std::atomic<bool>& stop) {
  while (!stop) {
    for (const auto& job : registry.ByAge()) {
      const auto status = Describe(*job);
      if (status.ok()) {
        EXPECT_LE(status->durable_steps, status->next_step);
        EXPECT_LE(status->next_step - status->durable_steps, 3U);
      }
      // Those whose producers wait for room.
      if (job->name() == kDoomed) continue;
      for (const StreamFigures& stream : job->Figures().streams) {
        EXPECT_LT(stream.buffered_tokens, 400U + kLargestBatch * 140);
      }
    }
  }
}

// A job that comes, is followed, and goes.
void ComeAndGo(ControlRoom& room, JobRegistry& registry) {
  UntilItIsStored([&] {
    const Awaited<absl::StatusOr<JobStatus>> created;
    registry.Create(kDoomed, CreateJob{TightJob()}, created);
    return created.Get().status();
  });
  const auto job = registry.Find(kDoomed).value();
  std::thread follower([&job] {
    std::optional<Follower> of_job;
    do {
      of_job.emplace(job);
    } while (absl::IsUnavailable(of_job->status()));
    if (absl::IsNotFound(of_job->status())) return;
    ASSERT_THAT(of_job->status(), IsOk());
    while (true) {
      const NextMessage next = of_job->Take();
      const auto* end = std::get_if<EndCall>(&next);
      if (end == nullptr) continue;
      EXPECT_TRUE(absl::IsNotFound(end->status)) << end->status;
      return;
    }
  });
  std::thread producer([&room, &job] {
    const std::vector<uint32_t> lengths = RandomLengths(9, 40);
    absl::Status sent;
    for (uint64_t next = 0; !absl::IsNotFound(sent); next += sent.ok() ? 40 : 0) {
      if (next > 400) room.store().FailCommits(1);
      sent = DoIngest(*job, next, lengths, "a");
      if (absl::IsOutOfRange(sent)) next = 0;
    }
  });
  UntilItIsStored([&] {
    const Awaited<absl::Status> removed;
    registry.Remove(kDoomed, removed);
    return removed.Get();
  });
  follower.join();
  producer.join();
}

// Whether the store's commits wait, and for how many microseconds else what can wait is
// gathered.
using Committing = std::pair<bool, int>;

class ControlConcurrencyTest : public ::testing::TestWithParam<Committing> {};

TEST_P(ControlConcurrencyTest, EachRankGetsEachDocumentOnceWhateverElseGoesOn) {
  constexpr int kJobs = 3;
  ControlRoom room(GetParam().first, std::chrono::microseconds(GetParam().second));
  JobRegistry registry(room.environment(), 100);
  std::vector<std::vector<std::vector<uint32_t>>> lengths;
  std::vector<std::shared_ptr<Job>> jobs;
  std::vector<std::vector<Steps>> steps(kJobs, std::vector<Steps>(2));
  for (uint64_t i = 0; i < kJobs; ++i) {
    lengths.push_back({RandomLengths(i, 300), RandomLengths(i + 50, 200)});
    const Awaited<absl::StatusOr<JobStatus>> created;
    registry.Create(absl::StrCat("job", i), CreateJob{TightJob()}, created);
    ASSERT_THAT(created.Get(), IsOk());
    jobs.push_back(registry.Find(absl::StrCat("job", i)).value());
  }
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kJobs; ++i) {
    for (const size_t stream : {0U, 1U}) {
      threads.emplace_back([&, i, stream] {
        Producer(room, jobs[i], stream == 0 ? "a" : "b", lengths[i][stream],
                 10 * i + stream)
            .SendAll();
      });
    }
    for (const uint32_t rank : {0U, 1U}) {
      threads.emplace_back([&, i, rank] { steps[i][rank] = Follow(jobs[i], rank); });
    }
  }
  std::atomic<bool> stop = false;
  std::thread observer([&] { Observe(registry, stop); });
  for (int i = 0; i < 20; ++i) ComeAndGo(room, registry);
  for (std::thread& thread : threads) thread.join();
  stop = true;
  observer.join();

  for (size_t i = 0; i < kJobs; ++i) {
    for (const Steps& of_rank : steps[i]) {
      EXPECT_EQ(TokensOf(of_rank), TokensOf(lengths[i])) << "job " << i;
      EXPECT_EQ(of_rank.back()->step.digest, Describe(*jobs[i])->digest);
    }
  }
}

// Whoever has lost its claim marks nothing.
void ExpectOkOrTaken(const absl::Status& status) {
  EXPECT_TRUE(status.ok() || DetailOf(status).reason == "CLAIM_TAKEN") << status;
}

// Many take the same claim from each other, each going on where the last one was.
TEST_P(ControlConcurrencyTest, AClaimThatIsTakenAgainAndAgainLosesNoStep) {
  constexpr int kThreads = 4;
  ControlRoom room(GetParam().first, std::chrono::microseconds(GetParam().second));
  const auto job = room.MakeJob(testing::SmallJob());
  const std::vector<uint32_t> lengths = RandomLengths(1, 400);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&job, &lengths] {
      Steps steps;
      while (true) {
        SubscribeRequest request;
        request.sends_durable = true;
        request.from_step = steps.size();
        if (!steps.empty()) request.last_digest = steps.back()->step.digest;
        Follower follower(job, request);
        // One that came later has it.
        if (absl::IsAborted(follower.status())) continue;
        ASSERT_THAT(follower.status(), IsOk());
        NextMessage next = follower.Take();
        for (; !std::holds_alternative<EndCall>(next); next = follower.Take()) {
          if (std::holds_alternative<SendDrained>(next)) {
            EXPECT_EQ(TokensOf(steps), TokensOf({lengths}));
            return;
          }
          auto* send = std::get_if<SendStep>(&next);
          if (send == nullptr) continue;
          ASSERT_EQ(send->step->step.index, steps.size());
          ASSERT_THAT(follower.Received(steps.size()), IsOk());
          job->MarkDurable(follower.subscription(), steps.size(), 0, ExpectOkOrTaken);
          steps.push_back(std::move(send->step));
        }
        const absl::Status& end = std::get<EndCall>(next).status;
        EXPECT_TRUE(absl::IsAborted(end)) << end;
      }
    });
  }
  for (uint64_t next = 0; next < lengths.size(); next += 20) {
    const auto begin = lengths.begin() + static_cast<ptrdiff_t>(next);
    ASSERT_THAT(DoIngest(*job, next, {begin, begin + 20}), IsOk());
  }
  ASSERT_THAT(Do(*job, EndOfStream{"a", lengths.size()}), IsOk());
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Describe(*job)->subscribers, 0U);
}

INSTANTIATE_TEST_SUITE_P(CommitWaits, ControlConcurrencyTest,
                         ::testing::Values(Committing(true, 0), Committing(false, 0),
                                           Committing(false, 2000)));

}  // namespace
}  // namespace evenpack
