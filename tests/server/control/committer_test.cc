#include "server/control/committer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/runtime/error_reason.h"
#include "server/runtime/status_detail.h"
#include "server/store/no_store.h"
#include "tests/server/control/committer_fixture.h"
#include "tests/testing/awaited.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/fault_store.h"
#include "tests/testing/memory_store.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::Awaited;
using testing::CommitterWithoutThreadTest;
using ::testing::ElementsAre;
using testing::FakeClock;
using testing::FaultStore;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::MemoryStore;
using testing::Participant;
using testing::ParticipantPointer;
using ::testing::SizeIs;
using testing::StatusIs;

class CommitterTest : public ::testing::Test {
 protected:
  ~CommitterTest() override { store_.Release(); }

  // An entry that appends one record.
  Awaited<absl::Status> Append(const ParticipantPointer& job, uint64_t number) {
    return Enqueue(job, {AppendRecord{job->name(), number, absl::StrCat(number)}});
  }
  Awaited<absl::Status> Enqueue(const ParticipantPointer& job,
                                std::vector<StoreWrite> writes) {
    CommitEntry entry;
    entry.participant = job;
    entry.incarnation = job->incarnation();
    entry.writes = std::move(writes);
    Awaited<absl::Status> answer;
    entry.done = [this, answer, at = next_++](const absl::Status& status) {
      done_.push_back(at);
      answer(status);
    };
    committer_.Enqueue(std::move(entry));
    committer_.Flush();
    return answer;
  }
  // Commits stand still, the first entry of `job` among them.
  Awaited<absl::Status> Block(const ParticipantPointer& job) {
    store_.Block();
    Awaited<absl::Status> first = Append(job, 0);
    store_.WaitUntilBlocked();
    return first;
  }

  MemoryStore memory_;
  FaultStore store_{memory_};
  const ParticipantPointer a_ = std::make_shared<Participant>("a");
  const ParticipantPointer b_ = std::make_shared<Participant>("b");
  // Numbers of the entries in the order in which they were done.
  std::vector<int> done_;
  int next_ = 0;
  FakeClock clock_;
  Committer committer_{store_, {}, clock_};
};

TEST_F(CommitterTest, AnEntryIsDoneAfterItsCommit) {
  store_.Block();
  const auto done = Append(a_, 0);
  store_.WaitUntilBlocked();
  EXPECT_FALSE(done.IsSet());
  store_.Release();
  EXPECT_THAT(done.Get(), IsOk());
  EXPECT_THAT(memory_.Load("a").value().records, ElementsAre("0"));
}

TEST_F(CommitterTest, WhatCameMeanwhileGoesInOneCommitInOrder) {
  Block(a_);
  Append(a_, 1);
  Append(b_, 0);
  Enqueue(a_, {AppendRecord{"a", 2, "2"}, AppendRecord{"a", 3, "3"}});
  const auto last = Append(b_, 1);
  store_.Release();
  EXPECT_THAT(last.Get(), IsOk());
  committer_.Stop();
  EXPECT_THAT(store_.commits(), ElementsAre(1U, 5U));
  EXPECT_THAT(done_, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(memory_.Load("a").value().records, ElementsAre("0", "1", "2", "3"));
}

TEST_F(CommitterTest, TellsHowLongACommitHasBeenUnderWay) {
  clock_.Advance(std::chrono::hours(1));
  EXPECT_EQ(committer_.Figures().age_seconds, 0);
  const auto first = Block(a_);
  clock_.Advance(std::chrono::seconds(2));
  Append(a_, 1);
  clock_.Advance(std::chrono::seconds(3));
  EXPECT_EQ(committer_.Figures().age_seconds, 5);
  EXPECT_EQ(committer_.Figures().commits, 0U);
  store_.Release();
  first.Get().IgnoreError();
  committer_.Stop();
  EXPECT_EQ(committer_.Figures().age_seconds, 0);
  EXPECT_EQ(committer_.Figures().commits, 2U);
}

TEST_F(CommitterTest, TellsForAWhileThatItsLastCommitFailed) {
  EXPECT_FALSE(committer_.Figures().failing);
  const auto fail = [this] {
    store_.FailCommits(2);
    EXPECT_FALSE(Append(a_, 0).Get().ok());
    while (!committer_.Figures().failing) std::this_thread::yield();
  };
  fail();
  clock_.Advance(Committer::kFailureIsNews - std::chrono::seconds(1));
  EXPECT_TRUE(committer_.Figures().failing);
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_FALSE(committer_.Figures().failing);
  fail();
  EXPECT_THAT(Append(b_, 0).Get(), IsOk());
  EXPECT_FALSE(committer_.Figures().failing);
}

TEST_F(CommitterTest, AnEntryWithoutWritesWaitsForThoseBeforeItAndCommitsNothing) {
  const auto first = Block(a_);
  const auto barrier = Enqueue(a_, {});
  EXPECT_FALSE(barrier.IsSet());
  store_.Release();
  EXPECT_THAT(barrier.Get(), IsOk());
  EXPECT_TRUE(first.IsSet());
  EXPECT_THAT(Enqueue(a_, {}).Get(), IsOk());
  committer_.Stop();
  EXPECT_THAT(store_.commits(), ElementsAre(1U));
}

TEST_F(CommitterTest, OneJobsFailingWritesDoNotFailThoseOfOthers) {
  Block(a_);
  const auto a1 = Append(a_, 1);
  const auto b0 = Append(b_, 0);
  const auto a2 = Append(a_, 2);
  const auto b1 = Append(b_, 1);
  store_.FailCommitsOf("b");
  store_.Release();
  EXPECT_THAT(a1.Get(), IsOk());
  EXPECT_THAT(a2.Get(), IsOk());
  for (const auto& failed : {b0, b1}) {
    EXPECT_THAT(failed.Get(),
                StatusIs(absl::StatusCode::kUnavailable,
                         "store: the change was not stored: the disk is full"));
    EXPECT_EQ(DetailOf(failed.Get()).reason, "STORE_FAILED");
  }
  committer_.Stop();
  EXPECT_THAT(memory_.Load("a").value().records, ElementsAre("0", "1", "2"));
  EXPECT_THAT(memory_.Load("b"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("b")));
  EXPECT_THAT(b_->failures(), ElementsAre("the disk is full"));
  EXPECT_THAT(a_->failures(), IsEmpty());
}

TEST_F(CommitterTest, AWriteThatTheStoreRefusesFailsItsJobAlone) {
  Block(a_);
  const auto gap = Append(a_, 7);
  const auto good = Append(b_, 0);
  store_.Release();
  EXPECT_THAT(gap.Get(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("record: 7")));
  EXPECT_THAT(good.Get(), IsOk());
}

TEST_F(CommitterTest, ACommitThatMayStandIsNotMadeAgain) {
  const auto first = Block(a_);
  store_.LoseAnswer();
  const auto second = Append(b_, 0);
  store_.Release();
  EXPECT_THAT(first.Get(), StatusIs(absl::StatusCode::kUnavailable,
                                    "store: whether the change is stored is not "
                                    "known: the answer is lost"));
  EXPECT_EQ(DetailOf(first.Get()),
            (StatusDetail{kStoreFailed, {{"outcome", "unknown"}}}));
  EXPECT_THAT(second.Get(), IsOk());
  committer_.Stop();
  EXPECT_THAT(a_->failures(), ElementsAre("the answer is lost"));
  EXPECT_THAT(memory_.Load("a").value().records, ElementsAre("0"));
}

// As where a job was asked how it stands beside another one's commit.
TEST_F(CommitterTest, AJobThatWroteNothingIsInNoDoubt) {
  const auto first = Block(a_);
  const auto second = Append(a_, 1);
  const auto barrier = Enqueue(b_, {});
  store_.LoseAnswer(/*skip=*/1);
  store_.Release();
  EXPECT_THAT(first.Get(), IsOk());
  EXPECT_THAT(second.Get(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("not known")));
  EXPECT_THAT(barrier.Get(), IsOk());
  EXPECT_THAT(b_->failures(), IsEmpty());
}

TEST_F(CommitterTest, WhatWasDecidedOnAStateThatFailedIsDropped) {
  const auto first = Block(a_);
  // Both attempts: with others, and alone.
  store_.FailCommits(2);
  const auto stale = Append(a_, 1);
  const auto stale_barrier = Enqueue(a_, {});
  const auto other = Append(b_, 0);
  store_.Release();
  EXPECT_THAT(first.Get(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the disk is full")));
  for (const auto& dropped : {stale, stale_barrier}) {
    EXPECT_THAT(dropped.Get(),
                StatusIs(absl::StatusCode::kUnavailable,
                         "store: the change was not stored: an earlier one failed"));
    EXPECT_EQ(DetailOf(dropped.Get()).reason, "STORE_FAILED");
  }
  EXPECT_THAT(other.Get(), IsOk());
  // Decided after the failure, it is good again.
  EXPECT_THAT(Append(a_, 0).Get(), IsOk());
  committer_.Stop();
  EXPECT_THAT(a_->failures(), ElementsAre("the disk is full"));
  EXPECT_THAT(memory_.Load("a").value().records, ElementsAre("0"));
}

TEST_F(CommitterTest, TheJobKnowsOfItsFailureBeforeThoseWhoWait) {
  store_.FailCommits(2);
  CommitEntry entry;
  entry.participant = a_;
  entry.writes = {AppendRecord{"a", 0, ""}};
  const Awaited<uint64_t> incarnation;
  entry.done = [this, incarnation](const absl::Status&) {
    incarnation(a_->incarnation());
  };
  committer_.Enqueue(std::move(entry));
  committer_.Flush();
  EXPECT_EQ(incarnation.Get(), 1U);
}

TEST_F(CommitterTest, ACallbackMayEnqueue) {
  const Awaited<absl::Status> second;
  CommitEntry entry;
  entry.participant = a_;
  entry.writes = {AppendRecord{"a", 0, ""}};
  entry.done = [this, second](const absl::Status&) {
    CommitEntry next;
    next.participant = a_;
    next.writes = {AppendRecord{"a", 1, ""}};
    next.done = second;
    committer_.Enqueue(std::move(next));
    committer_.Flush();
  };
  committer_.Enqueue(std::move(entry));
  committer_.Flush();
  EXPECT_THAT(second.Get(), IsOk());
}

TEST_F(CommitterTest, AJobIsToldOfEachCommitOnce) {
  Block(a_);
  for (const uint64_t number : {1U, 2U, 3U}) Append(a_, number);
  const auto last = Append(b_, 0);
  store_.Release();
  EXPECT_THAT(last.Get(), IsOk());
  committer_.Stop();
  EXPECT_EQ(a_->told(), 2);
  EXPECT_EQ(b_->told(), 1);
}

// Notes how many entries were done when it was told.
class Listener final : public CommitListener {
 public:
  explicit Listener(const std::vector<int>& done) : done_(done) {}
  void AfterCommit() override { done_when_told_.push_back(done_.size()); }
  const std::vector<size_t>& done_when_told() const { return done_when_told_; }

 private:
  const std::vector<int>& done_;
  std::vector<size_t> done_when_told_;
};

TEST_F(CommitterTest, AListenerIsToldAfterAllEntriesOfTheCommitWhateverBecameOfThem) {
  const auto listener = std::make_shared<Listener>(done_);
  Block(a_);
  Append(b_, 0);
  for (const auto& [job, number] : {std::pair(a_, 7), std::pair(b_, 1)}) {
    CommitEntry entry;
    entry.participant = job;
    entry.writes = {AppendRecord{job->name(), static_cast<uint64_t>(number), ""}};
    entry.done = [this](const absl::Status&) { done_.push_back(next_++); };
    entry.listener = listener;
    committer_.Enqueue(std::move(entry));
  }
  const auto last = Append(b_, 2);
  store_.Release();
  EXPECT_THAT(last.Get(), IsOk());
  committer_.Stop();
  EXPECT_THAT(a_->failures(), SizeIs(1)) << "a record is missing before number 7";
  EXPECT_THAT(listener->done_when_told(), ElementsAre(5U));
}

TEST_F(CommitterTest, StopCommitsWhatWasEnqueuedBefore) {
  const auto first = Block(a_);
  const auto second = Append(a_, 1);
  store_.Release();
  committer_.Stop();
  EXPECT_TRUE(first.IsSet());
  EXPECT_TRUE(second.IsSet());
  EXPECT_THAT(memory_.Load("a").value().records, ElementsAre("0", "1"));
  committer_.Stop();
}

TEST(CommitterWithoutAStoreTest, EntriesAreDoneAndTheStoreIsNotAsked) {
  NoStore none;
  FaultStore store(none, /*commit_waits=*/false);
  store.FailCommits(1);
  Committer committer(store);
  const Awaited<absl::Status> done;
  CommitEntry entry;
  entry.participant = std::make_shared<Participant>("a");
  entry.writes = {RemoveJob{"a"}};
  entry.done = done;
  committer.Enqueue(std::move(entry));
  committer.Flush();
  EXPECT_THAT(done.Get(), IsOk());
  EXPECT_THAT(store.commits(), IsEmpty());
  EXPECT_EQ(committer.Figures().commits, 0U);
}

TEST_F(CommitterTest, CountsCommitsFailuresRecordsAndBytes) {
  EXPECT_THAT(Enqueue(a_, {AppendRecord{"a", 0, "12345"}, WriteSnapshot{"a", 1, "123"},
                           AppendRecord{"a", 1, "1"}})
                  .Get(),
              IsOk());
  store_.FailCommits(2);
  EXPECT_FALSE(Append(a_, 2).Get().ok());
  EXPECT_THAT(Enqueue(a_, {RemoveJob{"a"}}).Get(), IsOk());
  EXPECT_THAT(Enqueue(a_, {}).Get(), IsOk());
  committer_.Stop();
  const CommitterFigures figures = committer_.Figures();
  EXPECT_EQ(figures.commits, 2U);
  EXPECT_EQ(figures.failures, 2U);
  EXPECT_EQ(figures.records, 4U);
  EXPECT_EQ(figures.bytes, 9U);
}

TEST_F(CommitterTest, TheLogHasAFailuresCauseOnceAndItsEnd) {
  // Where a log goes that was not started.
  ::testing::internal::CaptureStderr();
  store_.FailCommits(4);
  EXPECT_FALSE(Append(a_, 0).Get().ok());
  EXPECT_FALSE(Append(a_, 0).Get().ok());
  EXPECT_THAT(Append(a_, 0).Get(), IsOk());
  committer_.Stop();
  const std::string log = ::testing::internal::GetCapturedStderr();
  const size_t failed = log.find("commit failed because=");
  ASSERT_NE(failed, std::string::npos) << log;
  EXPECT_EQ(log.find("commit failed", failed + 1), std::string::npos) << log;
  EXPECT_NE(log.find("commits succeed again", failed), std::string::npos) << log;
}

TEST_F(CommitterWithoutThreadTest, WhoFlushesCommits) {
  const Awaited<std::thread::id> committed_by;
  Enqueue(0, [committed_by](const absl::Status& status) {
    EXPECT_THAT(status, IsOk());
    committed_by(std::this_thread::get_id());
  });
  EXPECT_FALSE(committed_by.IsSet());
  committer_.Flush();
  ASSERT_TRUE(committed_by.IsSet());
  EXPECT_EQ(committed_by.Get(), std::this_thread::get_id());
}

TEST_F(CommitterWithoutThreadTest, WhatComesWhileAnotherThreadCommitsIsCommittedByIt) {
  store_.Block();
  const Awaited<absl::Status> first;
  Enqueue(0, first);
  std::thread other([this] { committer_.Flush(); });
  store_.WaitUntilBlocked();
  const Awaited<std::thread::id> second_by;
  Enqueue(1,
          [second_by](const absl::Status&) { second_by(std::this_thread::get_id()); });
  // Returns at once: the other thread is at it.
  committer_.Flush();
  EXPECT_FALSE(second_by.IsSet());
  const std::thread::id others_id = other.get_id();
  store_.Release();
  EXPECT_EQ(second_by.Get(), others_id);
  other.join();
  EXPECT_THAT(first.Get(), IsOk());
  EXPECT_THAT(store_.commits(), ElementsAre(1U, 1U));
}

TEST_F(CommitterWithoutThreadTest, StopWaitsForTheThreadThatCommits) {
  store_.Block();
  const Awaited<absl::Status> first;
  Enqueue(0, first);
  std::thread other([this] { committer_.Flush(); });
  store_.WaitUntilBlocked();
  const Awaited<absl::Status> second;
  Enqueue(1, second);
  std::thread release([this] { store_.Release(); });
  committer_.Stop();
  EXPECT_TRUE(first.IsSet());
  EXPECT_TRUE(second.IsSet());
  other.join();
  release.join();
}

TEST_F(CommitterWithoutThreadTest, ACallbackMayEnqueueAndFlush) {
  int done = 0;
  std::function<void(const absl::Status&)> next = [&](const absl::Status& status) {
    EXPECT_THAT(status, IsOk());
    if (++done == 100) return;
    Enqueue(static_cast<uint64_t>(done), next);
    committer_.Flush();
  };
  Enqueue(0, next);
  committer_.Flush();
  EXPECT_EQ(done, 100);
}

}  // namespace
}  // namespace evenpack
