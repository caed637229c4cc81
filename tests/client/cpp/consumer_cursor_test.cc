#include "client/cpp/consumer_cursor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/cpp/test_history.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::StatusIs;
using ::evenpack::testing::TestHistory;
using ::testing::HasSubstr;

constexpr auto kWrong = absl::StatusCode::kDataLoss;

class ConsumerCursorTest : public ::testing::Test {
 protected:
  RankStep Step(uint64_t index) const {
    return *RankStep::FromMessage(history_.Step(index).step(),
                                  std::make_shared<const v1::JobSpec>());
  }
  Digest128 Before(uint64_t index) const { return history_.DigestBefore(index); }

  const TestHistory history_{4};
};

TEST_F(ConsumerCursorTest, BeginsWhereTheServerSays) {
  ConsumerCursor cursor({});
  EXPECT_EQ(cursor.position(), StepPosition{});
  EXPECT_THAT(cursor.Subscribed(2, Before(2)), IsOk());
  EXPECT_EQ(cursor.position(), (StepPosition{2, Before(2)}));
}

TEST_F(ConsumerCursorTest, MovesWithEachStep) {
  ConsumerCursor cursor({});
  ASSERT_THAT(cursor.Subscribed(0, Before(0)), IsOk());
  for (uint64_t index = 0; index < 3; ++index) {
    const absl::StatusOr<bool> is_next = cursor.Came(Step(index));
    ASSERT_THAT(is_next, IsOk());
    EXPECT_TRUE(*is_next);
    EXPECT_EQ(cursor.position(),
              (StepPosition{index + 1, Before(index + 1), Step(index).epoch()}));
  }
}

TEST_F(ConsumerCursorTest, AStepThatCameBeforeIsNotNext) {
  ConsumerCursor cursor({});
  ASSERT_THAT(cursor.Subscribed(2, Before(2)), IsOk());
  const absl::StatusOr<bool> is_next = cursor.Came(Step(1));
  ASSERT_THAT(is_next, IsOk());
  EXPECT_FALSE(*is_next);
  EXPECT_EQ(cursor.position(), (StepPosition{2, Before(2)}));
}

TEST_F(ConsumerCursorTest, FindsAStepThatIsMissing) {
  ConsumerCursor cursor({});
  ASSERT_THAT(cursor.Subscribed(1, Before(1)), IsOk());
  EXPECT_THAT(cursor.Came(Step(2)),
              StatusIs(kWrong, "step 2: came where step 1 is next"));
}

TEST_F(ConsumerCursorTest, FindsAStepThatIsDamaged) {
  ConsumerCursor cursor({1, Before(2)});
  EXPECT_THAT(cursor.Came(Step(1)), StatusIs(kWrong, HasSubstr("step 1: follows")));
}

TEST_F(ConsumerCursorTest, FindsAServerOfAnotherHistory) {
  ConsumerCursor cursor({2, Before(2)});
  EXPECT_THAT(
      cursor.Subscribed(3, Before(3)),
      StatusIs(kWrong, "from_step: the server starts at step 3, step 2 is next"));
  EXPECT_THAT(cursor.Subscribed(2, Before(1)),
              StatusIs(kWrong, HasSubstr("for step 1, here it has")));
  EXPECT_THAT(ConsumerCursor({}).Subscribed(0, Before(1)),
              StatusIs(kWrong, HasSubstr("before step 0")));
  EXPECT_THAT(cursor.Subscribed(2, Before(2)), IsOk());
}

TEST_F(ConsumerCursorTest, FindsAnEndThatIsNotWhereItStands) {
  const ConsumerCursor cursor({4, Before(4)});
  EXPECT_THAT(cursor.Drained(4, Before(4)), IsOk());
  EXPECT_THAT(cursor.Drained(5, Before(4)),
              StatusIs(kWrong, HasSubstr("drained: the job had 5 steps")));
  EXPECT_THAT(cursor.Drained(4, Before(3)), StatusIs(kWrong, HasSubstr("4 came")));
}

}  // namespace
}  // namespace evenpack::client
