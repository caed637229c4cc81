#include "server/store/lease_share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace evenpack {
namespace {

using Loads = std::vector<ServerLoad>;

ServerLoad Taker(const std::string& server, int64_t jobs) {
  return {.server = server, .lives = true, .takes = true, .jobs = jobs};
}
ServerLoad Drainer(const std::string& server, int64_t jobs) {
  return {.server = server, .lives = true, .takes = false, .jobs = jobs};
}
ServerLoad Dead(const std::string& server, int64_t jobs) {
  return {.server = server, .lives = false, .takes = true, .jobs = jobs};
}

TEST(LeaseShareTest, TakesUpToTheShareAndGivesWhatIsAbove) {
  struct Case {
    const char* what;
    Loads servers;
    bool left_over;
    LeaseMoves moves;  // of "a"
  };
  for (const Case& each : {
           Case{"alone with nothing", {Taker("a", 0)}, false, {0, 0}},
           Case{"alone with released jobs",
                {{.server = "", .jobs = 10}, Taker("a", 0)},
                false,
                {10, 0}},
           Case{"one of two",
                {Taker("a", 0), Dead("x", 10), Taker("b", 0)},
                false,
                {5, 0}},
           Case{"the share is rounded up",
                {Taker("a", 0), Dead("x", 10), Taker("b", 0), Taker("c", 0)},
                false,
                {4, 0}},
           Case{"what it leads counts",
                {Taker("a", 3), Dead("x", 2), Taker("b", 5)},
                false,
                {2, 0}},
           Case{"all where others have not taken theirs",
                {Taker("a", 3), Dead("x", 4), Taker("b", 0)},
                true,
                {4, 0}},
           Case{"what a living server leads is not taken",
                {Taker("a", 0), Drainer("b", 9)},
                true,
                {0, 0}},
           Case{"one that drains takes nothing",
                {Drainer("a", 0), Dead("x", 4)},
                true,
                {0, 0}},
           Case{"one that drains is not asked to give",
                {Drainer("a", 4), Taker("b", 0)},
                false,
                {0, 0}},
           Case{"one that is not known takes nothing", {Dead("x", 4)}, true, {0, 0}},
           Case{"one that is held for dead takes nothing",
                {Dead("a", 0), Dead("x", 4)},
                true,
                {0, 0}},
           Case{"gives what is above the share",
                {Taker("a", 10), Taker("b", 0)},
                false,
                {0, 5}},
           Case{"gives no more than the others miss",
                {Taker("a", 9), Taker("b", 6), Taker("c", 3)},
                false,
                {0, 3}},
           Case{"no others miss any",
                {Taker("a", 5), Taker("b", 4), Taker("c", 4)},
                false,
                {0, 0}},
           Case{"a difference of one is none",
                {Taker("a", 3), Taker("b", 2)},
                false,
                {0, 0}},
           Case{"what nobody leads is theirs first",
                {Taker("a", 6), Taker("b", 0), Dead("x", 4)},
                false,
                {0, 1}},
           Case{"one that drains misses none",
                {Taker("a", 6), Drainer("b", 0)},
                false,
                {0, 0}},
       }) {
    EXPECT_EQ(MovesOf("a", each.servers, each.left_over), each.moves) << each.what;
  }
}

// All servers act on what they see, one after the other: it ends, and evenly.
TEST(LeaseShareTest, ComesToRestWhereverItStarts) {
  const std::vector<std::vector<int64_t>> starts = {
      {10, 0, 0}, {0, 0, 1}, {7, 7, 7}, {1, 2, 3, 4, 5}, {1000, 0}, {0, 500, 3, 2}};
  for (const std::vector<int64_t>& start : starts) {
    Loads loads;
    for (size_t i = 0; i < start.size(); ++i) {
      loads.push_back(Taker(std::string(1, static_cast<char>('a' + i)), start[i]));
    }
    const auto fewer = [](const ServerLoad& one, const ServerLoad& other) {
      return one.jobs < other.jobs;
    };
    bool moved = true;
    for (int round = 0; moved; ++round) {
      ASSERT_LT(round, 10);
      moved = false;
      for (ServerLoad& load : loads) {
        const LeaseMoves moves = MovesOf(load.server, loads, false);
        for (int64_t i = 0; i < moves.give; ++i) {
          --load.jobs;
          ++std::min_element(loads.begin(), loads.end(), fewer)->jobs;
          moved = true;
        }
      }
    }
    const auto [least, most] = std::minmax_element(loads.begin(), loads.end(), fewer);
    int64_t jobs = 0;
    for (const ServerLoad& load : loads) jobs += load.jobs;
    const auto servers = static_cast<int64_t>(loads.size());
    EXPECT_LE(most->jobs, (jobs + servers - 1) / servers);
  }
}

}  // namespace
}  // namespace evenpack
