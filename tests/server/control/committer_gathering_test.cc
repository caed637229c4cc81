// What can wait a little.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "server/control/committer.h"
#include "tests/server/control/committer_fixture.h"
#include "tests/testing/awaited.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::Awaited;
using testing::CommitterWithoutThreadTest;
using ::testing::ElementsAre;
using testing::IsOk;

// Gathers for an hour at most, which no test waits for.
class GatheringCommitterTest : public CommitterWithoutThreadTest {
 protected:
  explicit GatheringCommitterTest(
      std::chrono::microseconds gather = std::chrono::hours(1))
      : CommitterWithoutThreadTest(gather) {}

  // The next record; who commits it is told.
  Awaited<std::thread::id> EnqueueNext() {
    Awaited<std::thread::id> by;
    Enqueue(next_++, [by](const absl::Status& status) {
      EXPECT_THAT(status, IsOk());
      by(std::this_thread::get_id());
    });
    return by;
  }
  Awaited<std::thread::id> EnqueueAndFlushSoon() {
    Awaited<std::thread::id> by = EnqueueNext();
    committer_.FlushSoon();
    return by;
  }
  // So many come that further ones are gathered.
  void BeBusy() {
    for (size_t i = 1; i < Committer::kBusy; ++i) {
      const auto by = EnqueueAndFlushSoon();
      ASSERT_TRUE(by.IsSet()) << "those before are committed by who flushes";
      EXPECT_EQ(by.Get(), std::this_thread::get_id());
    }
  }

  uint64_t next_ = 0;
};

class BrieflyGatheringCommitterTest : public GatheringCommitterTest {
 protected:
  BrieflyGatheringCommitterTest()
      : GatheringCommitterTest(std::chrono::milliseconds(3)) {}
};

TEST_F(GatheringCommitterTest, ManyThatCanWaitAreCommittedTogether) {
  BeBusy();
  const std::vector<Awaited<std::thread::id>> gathered = {
      EnqueueAndFlushSoon(), EnqueueAndFlushSoon(), EnqueueAndFlushSoon()};
  for (const auto& by : gathered) EXPECT_FALSE(by.IsSet());
  committer_.Stop();
  for (const auto& by : gathered) EXPECT_TRUE(by.IsSet());
  EXPECT_THAT(store_.commits(), ElementsAre(1U, 1U, 1U, 3U));
}

TEST_F(GatheringCommitterTest, AsManyAsAreEnoughAreCommittedByWhoBringsTheLast) {
  BeBusy();
  std::vector<Awaited<std::thread::id>> gathered;
  while (gathered.size() + 1 < Committer::kEnough) {
    gathered.push_back(EnqueueAndFlushSoon());
  }
  for (const auto& by : gathered) EXPECT_FALSE(by.IsSet());
  gathered.push_back(EnqueueAndFlushSoon());
  for (const auto& by : gathered) {
    ASSERT_TRUE(by.IsSet());
    EXPECT_EQ(by.Get(), std::this_thread::get_id());
  }
  // Further ones are gathered as before.
  EXPECT_FALSE(EnqueueAndFlushSoon().IsSet());
  EXPECT_THAT(store_.commits(), ElementsAre(1U, 1U, 1U, Committer::kEnough));
}

TEST_F(GatheringCommitterTest, WhatCannotWaitTakesWhatIsGatheredWithIt) {
  BeBusy();
  const auto gathered = EnqueueAndFlushSoon();
  const auto urgent = EnqueueNext();
  committer_.Flush();
  ASSERT_TRUE(urgent.IsSet());
  EXPECT_EQ(urgent.Get(), std::this_thread::get_id());
  EXPECT_EQ(gathered.Get(), std::this_thread::get_id());
  EXPECT_THAT(store_.commits(), ElementsAre(1U, 1U, 1U, 2U));
}

TEST_F(GatheringCommitterTest, WhatCannotWaitIsCommittedByAThreadThatIsAtIt) {
  BeBusy();
  store_.Block();
  const auto first = EnqueueNext();
  std::thread other([this] { committer_.Flush(); });
  store_.WaitUntilBlocked();
  EnqueueAndFlushSoon();
  const auto urgent = EnqueueNext();
  committer_.Flush();
  EXPECT_FALSE(urgent.IsSet());
  const std::thread::id others_id = other.get_id();
  store_.Release();
  EXPECT_EQ(urgent.Get(), others_id);
  other.join();
  EXPECT_THAT(store_.commits(), ElementsAre(1U, 1U, 1U, 1U, 2U));
}

TEST_F(BrieflyGatheringCommitterTest, EndsOnceNoMoreComes) {
  std::thread::id by = std::this_thread::get_id();
  // Each after the answer to the one before. A slow machine may take longer for some of
  // them than so many have to come within.
  while (by == std::this_thread::get_id()) by = EnqueueAndFlushSoon().Get();
  // Few, so that they are no longer gathered after the next time or two.
  while (by != std::this_thread::get_id()) by = EnqueueAndFlushSoon().Get();
}

}  // namespace
}  // namespace evenpack
