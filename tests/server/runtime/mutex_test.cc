#include "server/runtime/mutex.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace evenpack {
namespace {

class Counter {
 public:
  void Add() {
    MutexLock lock(mutex_);
    ++count_;
    changed_.SignalAll();
  }
  void AddAndWakeOne() {
    MutexLock lock(mutex_);
    ++count_;
    changed_.Signal();
  }
  void WaitUntil(int count) {
    MutexLock lock(mutex_);
    while (count_ < count) changed_.Wait(mutex_);
  }
  int count() {
    MutexLock lock(mutex_);
    return count_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  int count_ EVENPACK_GUARDED_BY(mutex_) = 0;
};

TEST(MutexTest, OnlyOneThreadHoldsItAtATime) {
  Counter counter;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&counter] {
      for (int j = 0; j < 10'000; ++j) counter.Add();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter.count(), 40'000);
}

TEST(MutexTest, IsFreeAgainWhereALockEnds) {
  Mutex mutex;
  int rounds = 0;
  {
    MutexLock lock(mutex);
    ++rounds;
  }
  mutex.Lock();
  ++rounds;
  mutex.Unlock();
  std::thread other([&] {
    MutexLock lock(mutex);
    ++rounds;
  });
  other.join();
  EXPECT_EQ(rounds, 3);
}

TEST(CondVarTest, SignalAllWakesEveryWaiter) {
  Counter counter;
  std::vector<std::thread> waiters;
  for (int i = 0; i < 4; ++i) {
    waiters.emplace_back([&counter] { counter.WaitUntil(1); });
  }
  counter.Add();
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_EQ(counter.count(), 1);
}

TEST(CondVarTest, SignalWakesAWaiterAndTheMutexIsHeldWhenItGoesOn) {
  Counter ping;
  Counter pong;
  std::thread other([&] {
    for (int i = 1; i <= 1000; ++i) {
      ping.WaitUntil(i);
      pong.AddAndWakeOne();
    }
  });
  for (int i = 1; i <= 1000; ++i) {
    ping.AddAndWakeOne();
    pong.WaitUntil(i);
    ASSERT_EQ(pong.count(), i);
  }
  other.join();
}

}  // namespace
}  // namespace evenpack
