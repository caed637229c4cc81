#include "client/cpp/durable_marks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::StatusIs;
using ::testing::HasSubstr;
using Mark = DurableMarks::Mark;

TEST(DurableMarks, AMarkIsPendingUntilItIsConfirmed) {
  DurableMarks marks;
  marks.HandedOut(4, 0);
  EXPECT_EQ(marks.Pending(), std::nullopt);
  EXPECT_THAT(marks.Wanted(4), IsOk());
  EXPECT_EQ(marks.Pending(), (Mark{4, 0}));
  marks.Confirmed(4);
  EXPECT_EQ(marks.Pending(), (Mark{4, 0}));
  marks.Confirmed(5);
  EXPECT_EQ(marks.Pending(), std::nullopt);
  EXPECT_EQ(marks.durable_steps(), 5U);
}

TEST(DurableMarks, TheHighestStandsForAll) {
  DurableMarks marks;
  for (uint64_t step = 0; step < 4; ++step) marks.HandedOut(step, 0);
  EXPECT_THAT(marks.Wanted(2), IsOk());
  EXPECT_THAT(marks.Wanted(1), IsOk());
  EXPECT_EQ(marks.Pending(), (Mark{2, 0}));
}

TEST(DurableMarks, TheHighestThatWasReleasedMayBeSentUntilItIsConfirmed) {
  DurableMarks marks;
  for (uint64_t step = 0; step < 4; ++step) marks.HandedOut(step, 0);
  EXPECT_THAT(marks.Wanted(1), IsOk());
  EXPECT_EQ(marks.Sendable(), std::nullopt);
  const Mark first = *marks.Pending();
  EXPECT_THAT(marks.Wanted(3), IsOk());
  marks.Released(first);
  EXPECT_EQ(marks.Sendable(), (Mark{1, 0}));
  marks.Released(*marks.Pending());
  marks.Released(first);
  EXPECT_EQ(marks.Sendable(), (Mark{3, 0}));
  marks.Confirmed(4);
  EXPECT_EQ(marks.Sendable(), std::nullopt);
}

TEST(DurableMarks, AMarkNamesTheEpochOfItsStep) {
  DurableMarks marks;
  marks.HandedOut(7, 2);
  marks.HandedOut(8, 2);
  marks.HandedOut(9, 3);
  marks.HandedOut(10, 3);
  EXPECT_THAT(marks.Wanted(8), IsOk());
  EXPECT_EQ(marks.Pending(), (Mark{8, 2}));
  EXPECT_THAT(marks.Wanted(10), IsOk());
  EXPECT_EQ(marks.Pending(), (Mark{10, 3}));
}

TEST(DurableMarks, WhoGoesOnFromACheckpointCanMarkTheStepBehindWhichItIs) {
  DurableMarks marks = DurableMarks::Behind(5, 3);
  EXPECT_THAT(marks.Wanted(4), IsOk());
  EXPECT_EQ(marks.Pending(), (Mark{4, 3}));
  marks.HandedOut(5, 4);
  EXPECT_THAT(marks.Wanted(5), IsOk());
  EXPECT_EQ(marks.Pending(), (Mark{5, 4}));
  for (DurableMarks none : {DurableMarks::Behind(0, 3), DurableMarks::Behind({}, 3),
                            DurableMarks::Behind(5, {})}) {
    EXPECT_THAT(none.Wanted(4), StatusIs(absl::StatusCode::kInvalidArgument,
                                         HasSubstr("no step was handed out")));
  }
}

TEST(DurableMarks, OnlyStepsThatWereHandedOutCanBeMarked) {
  DurableMarks marks;
  const auto code = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(marks.Wanted(0), StatusIs(code, HasSubstr("no step was handed out")));
  marks.HandedOut(3, 0);
  marks.HandedOut(4, 0);
  EXPECT_THAT(marks.Wanted(2), StatusIs(code, HasSubstr("step: 2 is not accepted; "
                                                        "accepted: 3 to 4")));
  EXPECT_THAT(marks.Wanted(5), StatusIs(code, HasSubstr("step: 5")));
  EXPECT_EQ(marks.Pending(), std::nullopt);
}

}  // namespace
}  // namespace evenpack::client
