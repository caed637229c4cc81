#include "gpu_worker/arena/timeline.h"

#include <gtest/gtest.h>

#include <thread>

namespace evenpack::worker {
namespace {

using std::chrono::nanoseconds;

bool Never() { return false; }

TEST(TimelineTest, AValueThatIsReachedIsNotWaitedFor) {
  Timeline timeline{};
  Advance(timeline, 7);
  const auto asked = [] {
    ADD_FAILURE() << "nobody waits";
    return true;
  };
  EXPECT_TRUE(AwaitValue(timeline, 0, asked));
  EXPECT_TRUE(AwaitValue(timeline, 7, asked));
}

TEST(TimelineTest, WakesThoseWhoWaitHoweverTheySleep) {
  for (const nanoseconds spin : {nanoseconds(0), nanoseconds(1'000'000)}) {
    Timeline asked{};
    Timeline answered{};
    std::thread other([&] {
      for (uint64_t i = 1; i <= 2000; ++i) {
        EXPECT_TRUE(AwaitValue(asked, i, Never, spin));
        Advance(answered, i);
      }
    });
    for (uint64_t i = 1; i <= 2000; ++i) {
      Advance(asked, i);
      EXPECT_TRUE(AwaitValue(answered, i, Never, spin));
    }
    other.join();
    EXPECT_EQ(asked.waiters.load(), 0U);
    EXPECT_EQ(answered.waiters.load(), 0U);
  }
}

TEST(TimelineTest, WhatWasReachedJustBeforeTheOtherWasGoneIsReached) {
  Timeline timeline{};
  const auto ends = [&timeline] {
    Advance(timeline, 3);
    return true;
  };
  EXPECT_TRUE(AwaitValue(timeline, 3, ends, nanoseconds(0)));
  EXPECT_FALSE(AwaitValue(timeline, 4, ends, nanoseconds(0)));
}

TEST(TimelineTest, WhatWasWrittenBeforeIsSeen) {
  Timeline timeline{};
  int written = 0;
  std::thread other([&] {
    written = 5;
    Advance(timeline, 1);
  });
  EXPECT_TRUE(AwaitValue(timeline, 1, Never, nanoseconds(0)));
  EXPECT_EQ(written, 5);
  other.join();
}

TEST(TimelineTest, OneThatWaitsGivesUpWhenItIsToldTo) {
  Timeline timeline{};
  std::atomic<bool> gives_up = false;
  std::atomic<bool> asked = false;
  std::thread other([&] {
    EXPECT_FALSE(AwaitValue(
        timeline, 1,
        [&] {
          asked = true;
          return gives_up.load();
        },
        nanoseconds(0)));
  });
  while (!asked) std::this_thread::yield();
  gives_up = true;
  WakeWaiters(timeline);
  other.join();
  EXPECT_EQ(timeline.waiters.load(), 0U);
}

}  // namespace
}  // namespace evenpack::worker
