#include "server/control/room_waiters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace evenpack {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RoomWaitersTest : public ::testing::Test {
 protected:
  uint64_t Add(size_t stream, int name) {
    return waiters_.Add(stream, [this, name] { called_.push_back(name); });
  }
  // Calls those of streams that aren't `full`.
  std::vector<int> TakeReady(const std::vector<size_t>& full) {
    called_.clear();
    for (const auto& callback : waiters_.TakeReady([&full](size_t stream) {
           return std::find(full.begin(), full.end(), stream) != full.end();
         })) {
      callback();
    }
    return called_;
  }

  RoomWaiters waiters_;
  std::vector<int> called_;
};

TEST_F(RoomWaitersTest, TakesThoseOfStreamsWithRoomOnceInTheOrderInWhichTheyCame) {
  Add(1, 10);
  Add(0, 11);
  Add(1, 12);
  Add(2, 13);
  EXPECT_THAT(TakeReady({0, 1, 2}), IsEmpty());
  EXPECT_THAT(TakeReady({0}), ElementsAre(10, 12, 13));
  EXPECT_THAT(TakeReady({0}), IsEmpty());
  EXPECT_THAT(TakeReady({}), ElementsAre(11));
}

TEST_F(RoomWaitersTest, OneThatIsRemovedIsNotCalled) {
  const uint64_t first = Add(0, 1);
  Add(0, 2);
  waiters_.Remove(first);
  EXPECT_THAT(TakeReady({}), ElementsAre(2));
  // Taken before, which the remover can't know.
  waiters_.Remove(first);
}

}  // namespace
}  // namespace evenpack
