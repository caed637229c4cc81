#include "client/cpp/shared_random.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

namespace evenpack::client {
namespace {

TEST(SharedRandomTest, CopiesDrawNumbersOfTheirOwn) {
  const std::function<double()> first = SharedRandom();
  const std::function<double()> second = first;  // NOLINT(performance-*)
  std::set<double> drawn;
  for (int i = 0; i < 100; ++i) {
    drawn.insert(first());
    drawn.insert(second());
  }
  EXPECT_EQ(drawn.size(), 200);
  EXPECT_GE(*drawn.begin(), 0);
  EXPECT_LT(*drawn.rbegin(), 1);
}

TEST(SharedRandomTest, TwoAreSeededApart) {
  EXPECT_NE(SharedRandom()(), SharedRandom()());
}

TEST(SharedRandomTest, CallsWhatItIsGivenOneThreadAtATime) {
  int calls = 0;
  const std::function<double()> shared = SharedRandom([&calls] { return ++calls; });
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([own = shared] {
        for (int draw = 0; draw < 1000; ++draw) own();
      });
    }
  }
  EXPECT_EQ(calls, 4000);
}

}  // namespace
}  // namespace evenpack::client
