// A job that comes back from the store is the job that was, wherever it stopped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/control/job.h"
#include "server/core/engine/event_codec.h"
#include "server/core/engine/state_codec.h"
#include "server/runtime/status_detail.h"
#include "tests/server/control/emitted_documents.h"
#include "tests/server/control/small_job.h"
#include "tests/testing/awaited.h"
#include "tests/testing/control_room.h"
#include "tests/testing/follower.h"
#include "tests/testing/shared_memory_store.h"
#include "tests/testing/shared_server.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

using testing::ControlRoom;
using testing::Describe;
using testing::Do;
using testing::DoIngest;
using testing::DoRemove;
using testing::DoUpdate;
using testing::Draw;
using testing::Follower;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::MemoryStore;
using testing::Open;
using testing::RandomLengths;
using testing::ResolveCosts;
using testing::SmallJob;
using testing::StatusIs;
using testing::StepsOfDocuments;
using testing::TokensOf;

void ExpectSameStatus(const JobStatus& a, const JobStatus& b) {
  EXPECT_EQ(*a.spec, *b.spec);
  EXPECT_EQ(a.epoch, b.epoch);
  EXPECT_EQ(a.next_step, b.next_step);
  EXPECT_EQ(a.durable_steps, b.durable_steps);
  EXPECT_EQ(a.oldest_step, b.oldest_step);
  EXPECT_EQ(a.digest, b.digest);
  EXPECT_EQ(a.waiting_documents, b.waiting_documents);
  EXPECT_EQ(a.waiting_tokens, b.waiting_tokens);
  EXPECT_EQ(a.drained, b.drained);
  EXPECT_EQ(a.durable_steps_per_rank, b.durable_steps_per_rank);
  ASSERT_EQ(a.streams.size(), b.streams.size());
  for (size_t i = 0; i < a.streams.size(); ++i) {
    EXPECT_EQ(a.streams[i].name, b.streams[i].name);
    EXPECT_EQ(a.streams[i].next_sequence, b.streams[i].next_sequence);
    EXPECT_EQ(a.streams[i].ended, b.streams[i].ended);
    EXPECT_EQ(a.streams[i].buffered_documents, b.streams[i].buffered_documents);
    EXPECT_EQ(a.streams[i].buffered_tokens, b.streams[i].buffered_tokens);
  }
}

void ExpectSameStep(const PublishedStep& a, const PublishedStep& b) {
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.previous, b.previous);
  EXPECT_EQ(*a.spec, *b.spec);
  EXPECT_EQ(a.plans, b.plans);
  EXPECT_EQ(a.rank_loads, b.rank_loads);
  EXPECT_EQ(a.totals.tokens, b.totals.tokens);
  EXPECT_EQ(a.totals.total_workload_ns, b.totals.total_workload_ns);
}

// Status, and what followers can see.
void ExpectSame(Job& a, Job& b) {
  const JobStatus status = Describe(a).value();
  ExpectSameStatus(status, Describe(b).value());
  for (uint64_t step = 0; step < status.next_step; ++step) {
    const auto kept = a.FindStep(step);
    const auto recovered = b.FindStep(step);
    ASSERT_EQ(kept.status(), recovered.status()) << "step " << step;
    if (kept.ok()) ExpectSameStep(**kept, **recovered);
  }
  for (uint32_t rank = 0; rank < status.spec->data_parallel; ++rank) {
    EXPECT_EQ(a.DurableStepsOf(rank), b.DurableStepsOf(rank));
    SubscribeRequest request;
    request.dp_rank = rank;
    const Follower of_a(std::shared_ptr<Job>(std::shared_ptr<Job>(), &a), request);
    const Follower of_b(std::shared_ptr<Job>(std::shared_ptr<Job>(), &b), request);
    EXPECT_EQ(of_a.subscribed().from_step, of_b.subscribed().from_step);
    EXPECT_EQ(of_a.subscribed().previous_digest, of_b.subscribed().previous_digest);
    EXPECT_EQ(of_a.subscribed().epoch, of_b.subscribed().epoch);
  }
}

// A job of two streams under random requests.
class RandomJob {
 public:
  // `description`: so large that updates lead to snapshots.
  explicit RandomJob(uint64_t seed, const std::string& description = "")
      : description_(description), random_(seed) {
    lengths_ = {RandomLengths(seed, 400), RandomLengths(seed + 1, 300)};
    job_ = room_.MakeJob(Shape(0));
  }

  void DoSomething() {
    switch (Draw(random_, 0, 9)) {
      case 0:
        return Update();
      case 1:
      case 2:
      case 3:
        return Acknowledge();
      default:
        return Ingest();
    }
  }
  // Ends both streams with what they have, and takes all marks.
  void Finish() {
    for (const size_t stream : {0U, 1U}) {
      const uint64_t sent = Open(*job_, Name(stream))->next_sequence;
      ASSERT_THAT(Do(*job_, EndOfStream{Name(stream), sent}), IsOk());
      lengths_[stream].resize(sent);
    }
    ASSERT_TRUE(Describe(*job_)->drained);
  }

  Job& job() { return *job_; }
  ControlRoom& room() { return room_; }
  // Another server takes over.
  void Restart() { job_ = room_.RecoverJob(); }
  const std::vector<std::vector<uint32_t>>& lengths() const { return lengths_; }

 private:
  static std::string Name(size_t stream) { return stream == 0 ? "a" : "b"; }

  JobSpec Shape(uint32_t number) {
    JobSpec spec = SmallJob();
    spec.description = description_;
    spec.streams = {{.name = "a", .weight = 2}, {.name = "b"}};
    spec.micro_batches = number % 2 == 0 ? 4 : 6;
    spec.context_parallel = 1 + number % 3;
    spec.retain_checkpoints = 1 + number % 2;
    switch (number % 3) {
      case 0:
        spec.policy.kind = PolicyKind::kWlb;
        spec.policy.queue_thresholds = {60, 100};
        break;
      case 1:
        spec.policy.kind = PolicyKind::kFixedGreedy;
        spec.policy.window_batches = 2;
        break;
      default:
        spec.max_length = 150;
    }
    ResolveCosts(spec);
    return spec;
  }

  void Ingest() {
    const size_t stream = Draw(random_, 0, 1);
    const std::vector<uint32_t>& all = lengths_[stream];
    const uint64_t next = Open(*job_, Name(stream))->next_sequence;
    // Some of what was sent before, and some more.
    const uint64_t first = next - std::min<uint64_t>(next, Draw(random_, 0, 3));
    const uint64_t end = std::min<uint64_t>(all.size(), next + Draw(random_, 0, 25));
    if (end == first) return;
    const auto begin = all.begin();
    EXPECT_THAT(DoIngest(*job_, first,
                         {begin + static_cast<ptrdiff_t>(first),
                          begin + static_cast<ptrdiff_t>(end)},
                         Name(stream)),
                IsOk());
  }
  void Acknowledge() {
    const JobStatus status = Describe(*job_).value();
    if (status.next_step == 0) return;
    const uint32_t rank = Draw(random_, 0, status.spec->data_parallel - 1);
    const auto step =
        static_cast<uint64_t>(Draw(random_, static_cast<uint32_t>(status.oldest_step),
                                   static_cast<uint32_t>(status.next_step)));
    const auto found = job_->FindStep(step);
    if (!found.ok()) return;
    EXPECT_THAT(Do(*job_, evenpack::Acknowledge{rank, step, (*found)->step.epoch}),
                IsOk());
  }
  void Update() {
    const JobStatus status = Describe(*job_).value();
    const auto from =
        static_cast<uint64_t>(Draw(random_, static_cast<uint32_t>(status.durable_steps),
                                   static_cast<uint32_t>(status.next_step)));
    // A padded or shorter shape may not fit what waits.
    const absl::Status updated = DoUpdate(*job_, Shape(Draw(random_, 0, 5)), from);
    EXPECT_TRUE(updated.ok() || absl::IsFailedPrecondition(updated)) << updated;
  }

  const std::string description_;
  std::mt19937_64 random_;
  std::vector<std::vector<uint32_t>> lengths_;
  ControlRoom room_;
  std::shared_ptr<Job> job_;
};

TEST(JobRecoveryTest, ARecoveredJobIsTheLiveOneAfterAnyRequests) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    RandomJob random(seed);
    for (int i = 0; i < 60; ++i) {
      random.DoSomething();
      if (i % 5 != 0) continue;
      const auto recovered = random.room().RecoverJob();
      ASSERT_NO_FATAL_FAILURE(ExpectSame(random.job(), *recovered));
    }
    EXPECT_GT(Describe(random.job())->next_step, 20U);
    EXPECT_GT(Describe(random.job())->epoch, 1U);
  }
}

TEST(JobRecoveryTest, SoItIsFromASnapshotAndTheRecordsSince) {
  RandomJob random(21, std::string(1 << 20, 'x'));
  for (int i = 0; i < 60; ++i) {
    random.DoSomething();
    if (i % 10 != 0) continue;
    const auto recovered = random.room().RecoverJob();
    ASSERT_NO_FATAL_FAILURE(ExpectSame(random.job(), *recovered));
  }
  EXPECT_GT(random.room().memory().Load("job")->snapshot_records, 0U);
}

TEST(JobRecoveryTest, AJobGoesOnAfterAnyNumberOfRestarts) {
  for (uint64_t seed = 11; seed <= 15; ++seed) {
    SCOPED_TRACE(seed);
    RandomJob restarted(seed);
    RandomJob steady(seed);
    for (int i = 0; i < 60; ++i) {
      restarted.DoSomething();
      steady.DoSomething();
      if (i % 4 == 0) restarted.Restart();
    }
    restarted.Finish();
    steady.Finish();
    ASSERT_NO_FATAL_FAILURE(ExpectSame(restarted.job(), steady.job()));
    EXPECT_EQ(restarted.lengths(), steady.lengths());
  }
}

// From here on the store has a job as it was once.
void PutBack(MemoryStore& store, const std::string& name, StoredJob earlier) {
  std::vector<StoreWrite> writes = {RemoveJob{name}};
  for (std::string& record : earlier.records) {
    writes.emplace_back(AppendRecord{name, writes.size() - 1, std::move(record)});
  }
  ASSERT_THAT(store.Commit(writes), IsOk());
}

TEST(JobRecoveryTest, AJobWhoseStoreWentBackIsWhatTheStoreHas) {
  for (uint64_t seed = 31; seed <= 35; ++seed) {
    SCOPED_TRACE(seed);
    RandomJob random(seed);
    for (int i = 0; i < 40; ++i) random.DoSomething();
    MemoryStore& store = random.room().memory();
    const StoredJob earlier = store.Load("job").value();
    for (int i = 0; i < 20; ++i) random.DoSomething();
    ASSERT_NO_FATAL_FAILURE(PutBack(store, "job", earlier));
    // What comes next is refused; a full buffer takes nothing, but an end always comes.
    EXPECT_THAT(Do(random.job(), EndOfStream{"a", Open(random.job())->next_sequence}),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("")));
    const auto recovered = random.room().RecoverJob();
    ASSERT_NO_FATAL_FAILURE(ExpectSame(random.job(), *recovered));
    random.Finish();
    ASSERT_NO_FATAL_FAILURE(ExpectSame(random.job(), *random.room().RecoverJob()));
  }
}

TEST(JobRecoveryTest, NobodyFollowsAnotherHistoryOfAStoreThatWentBack) {
  ControlRoom room;
  const auto job = room.MakeJob(SmallJob());
  ASSERT_THAT(DoIngest(*job, 0, StepsOfDocuments(2)), IsOk());
  const StoredJob earlier = room.memory().Load("job").value();
  ASSERT_THAT(DoIngest(*job, 16, StepsOfDocuments(2)), IsOk());
  Follower ahead(job);
  SubscribeRequest of_ahead;
  for (of_ahead.from_step = 0; of_ahead.from_step < 3U; ++*of_ahead.from_step) {
    of_ahead.last_digest = ahead.TakeStep()->step.digest;
  }
  SubscribeRequest of_behind;
  of_behind.dp_rank = 1;
  Follower behind(job, of_behind);
  of_behind.from_step = 1;
  of_behind.last_digest = behind.TakeStep()->step.digest;

  ASSERT_NO_FATAL_FAILURE(PutBack(room.memory(), "job", earlier));
  EXPECT_THAT(DoIngest(*job, 32, {50}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("not stored")));
  for (Follower* const follower : {&ahead, &behind}) {
    EXPECT_THAT(follower->TakeEnd(), StatusIs(absl::StatusCode::kUnavailable,
                                              HasSubstr("its next step is 2")));
  }
  EXPECT_EQ(Open(*job)->next_sequence, 16U);
  // Before and after other documents took the place of those that are gone.
  for (int i = 0; i < 2; ++i) {
    const absl::Status refused = Follower(job, of_ahead).status();
    EXPECT_THAT(refused, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("history")));
    EXPECT_EQ(DetailOf(refused).reason, "HISTORY_DIFFERS");
    const uint64_t next = Open(*job)->next_sequence;
    ASSERT_THAT(DoIngest(*job, next, std::vector<uint32_t>(20, 40)), IsOk());
  }
  Follower back(job, of_behind);
  ASSERT_THAT(back.status(), IsOk());
  Digest128 last = *of_behind.last_digest;
  for (uint64_t index = 1; index < 5; ++index) {
    const auto step = back.TakeStep();
    EXPECT_EQ(step->step.index, index);
    EXPECT_EQ(step->previous, last);
    last = step->step.digest;
  }
}

TEST(JobRecoveryTest, FollowersGoOnWhereTheyWere) {
  ControlRoom room;
  std::vector<std::shared_ptr<const PublishedStep>> steps;
  {
    const auto job = room.MakeJob(SmallJob());
    ASSERT_THAT(DoIngest(*job, 0, StepsOfDocuments(5)), IsOk());
    Follower follower(job);
    for (int i = 0; i < 3; ++i) steps.push_back(follower.TakeStep());
  }
  const auto job = room.RecoverJob();
  SubscribeRequest request;
  request.from_step = 3;
  request.last_digest = steps.back()->step.digest;
  request.epoch = 0;
  Follower follower(job, request);
  ASSERT_THAT(follower.status(), IsOk());
  ASSERT_THAT(DoIngest(*job, 40, StepsOfDocuments(1)), IsOk());
  ASSERT_THAT(Do(*job, EndOfStream{"a", 48}), IsOk());
  for (const auto& step : follower.TakeAll()) steps.push_back(step);
  EXPECT_EQ(TokensOf(steps), TokensOf({StepsOfDocuments(6)}));
}

TEST(JobRecoveryTest, FiguresCountFromTheRestartOn) {
  ControlRoom room;
  {
    const auto job = room.MakeJob(SmallJob());
    ASSERT_THAT(DoIngest(*job, 0, StepsOfDocuments(2)), IsOk());
  }
  const auto job = room.RecoverJob();
  EXPECT_EQ(job->Figures().next_step, 2U);
  EXPECT_EQ(job->Figures().documents_emitted, 0U);
  ASSERT_THAT(DoIngest(*job, 16, StepsOfDocuments(3)), IsOk());
  const JobFigures figures = job->Figures();
  EXPECT_FALSE(figures.broken);
  EXPECT_EQ(figures.streams[0].documents_accepted, 24U);
  EXPECT_EQ(figures.documents_emitted, 24U);
  EXPECT_EQ(figures.original.steps, 3U);
}

TEST(JobRecoveryTest, WhatTheStoreDoesNotKnowIsNotCreated) {
  ControlRoom room;
  const auto job = room.RecoverJob("new");
  EXPECT_THAT(Describe(*job),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'new'")));
}

TEST(JobRecoveryTest, ADamagedJobSaysSoToEveryRequestAndCanBeRemoved) {
  ControlRoom room;
  room.MakeJob(SmallJob());
  room.DamageJob();
  const auto job = std::make_shared<Job>("job", room.environment());
  const absl::Status damage = job->Recover();
  EXPECT_THAT(damage, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("")));
  EXPECT_TRUE(job->Figures().broken);
  EXPECT_EQ(DoIngest(*job, 0, {10}), damage);
  EXPECT_EQ(Describe(*job).status(), damage);
  EXPECT_EQ(Open(*job).status(), damage);
  EXPECT_EQ(Follower(job).status(), damage);
  EXPECT_EQ(job->FindStep(0).status(), damage);
  EXPECT_EQ(job->WaitForRoom(0, [] {}), std::nullopt);
  EXPECT_EQ(job->Figures().job, "job");
  EXPECT_THAT(DoRemove(*job), IsOk());
  EXPECT_THAT(room.memory().Load("job"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'job'")));
  EXPECT_THAT(Describe(*job),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'job'")));
}

TEST(JobRecoveryTest, AJobThatTheDiskDoesNotGiveIsNotCalledDamaged) {
  ControlRoom room;
  room.MakeJob(SmallJob());
  room.store().FailLoads(1);
  const auto job = std::make_shared<Job>("job", room.environment());
  const absl::Status unread = job->Recover();
  EXPECT_THAT(unread,
              StatusIs(absl::StatusCode::kUnavailable,
                       "store: the job can't be recovered yet, which is tried again: "
                       "the disk is gone"));
  EXPECT_EQ(DetailOf(unread).reason, "STORE_FAILED");
  EXPECT_EQ(Describe(*job).status(), unread);
}

// A job whose policy has a later version, as a snapshot behind its creation or as that.
std::vector<StoreWrite> NewerJob(bool as_snapshot) {
  JobSpec spec = SmallJob();
  testing::TestJob known(spec);
  spec.policy.version = kPolicyVersion + 1;
  std::vector<StoreWrite> writes = {
      AppendRecord{"job", 0, EncodeEvent(JobCreated{spec})}};
  if (!as_snapshot) return writes;
  JobState state = known.state();
  state.spec = spec;
  writes.emplace_back(WriteSnapshot{"job", 1, EncodeState(state)});
  return writes;
}

TEST(JobRecoveryTest, AJobOfALaterVersionSaysSoAndIsLeftAlone) {
  for (const bool as_snapshot : {false, true}) {
    ControlRoom room;
    ASSERT_THAT(room.memory().Commit(NewerJob(as_snapshot)), IsOk());
    const auto before = room.memory().Load("job");
    const auto job = std::make_shared<Job>("job", room.environment());
    const absl::Status newer = job->Recover();
    EXPECT_THAT(newer,
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr(absl::StrCat("policy.version: ", kPolicyVersion + 1,
                                                " is newer than this"))));
    EXPECT_EQ(DetailOf(newer).reason, "STORE_OTHER_VERSION");
    EXPECT_EQ(DoIngest(*job, 0, {10}), newer);
    EXPECT_EQ(DoUpdate(*job, SmallJob()), newer);
    EXPECT_EQ(Describe(*job).status(), newer);
    EXPECT_EQ(Follower(job).status(), newer);
    EXPECT_EQ(job->Latency(1).status(), newer);
    EXPECT_EQ(job->Calibration().status(), newer);
    EXPECT_EQ(job->ReportLatency({}).status(), newer);
    const auto after = room.memory().Load("job");
    EXPECT_EQ(after->snapshot, before->snapshot);
    EXPECT_EQ(after->records, before->records);
  }
}

TEST(JobRecoveryTest, WhereServersShareTheStoreANewerOneMayLeadItSoon) {
  testing::SharedMemory memory;
  testing::SharedServer server(memory, "here:1");
  ASSERT_THAT(server.store().Commit(NewerJob(/*as_snapshot=*/false)), IsOk());
  const auto job = std::make_shared<Job>("job", server.room().environment());
  const absl::Status newer = job->Recover();
  EXPECT_THAT(newer,
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr(absl::StrCat("policy.version: ", kPolicyVersion + 1,
                                              " is newer than this"))));
  EXPECT_EQ(DetailOf(newer).reason, "STORE_FAILED");
}

TEST(JobRecoveryTest, ARestoredJobIsRecoveredAsItWasRestored) {
  ControlRoom first;
  const auto job = first.MakeJob(SmallJob());
  ASSERT_THAT(DoIngest(*job, 0, StepsOfDocuments(3)), IsOk());
  const testing::Awaited<absl::StatusOr<JobCheckpoint>> checkpoint;
  job->Checkpoint(1, checkpoint);
  ASSERT_THAT(checkpoint.Get(), IsOk());

  ControlRoom second;
  const auto restored = std::make_shared<Job>("job", second.environment());
  ASSERT_THAT(Do(*restored, RestoreJob{checkpoint.Get()->bytes}), IsOk());
  const auto before = Describe(*restored);
  ASSERT_THAT(before, IsOk());
  EXPECT_EQ(before->durable_steps, 2U);
  EXPECT_EQ(before->next_step, 3U) << "formed of what it holds";
  const auto again = second.RecoverJob();
  const auto after = Describe(*again);
  ASSERT_THAT(after, IsOk());
  ExpectSameStatus(*before, *after);
  EXPECT_EQ((*again->FindStep(2))->step, (*job->FindStep(2))->step);
  EXPECT_FALSE(again->FindStep(1).ok());
}

}  // namespace
}  // namespace evenpack
