#include "server/app/store_wait.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/store/no_store.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::IsOk;
using testing::StatusIs;

class StoreWaitTest : public ::testing::Test {
 protected:
  // Of a store that is refused so until it has been asked for `tries` times.
  OpenedStore Open(int patience_seconds, int tries,
                   absl::StatusCode refusal = absl::StatusCode::kUnavailable) {
    opened_ = 0;
    const StoreWait wait = {
        std::chrono::seconds(patience_seconds), std::chrono::milliseconds(1000),
        &clock_, [this](std::chrono::milliseconds time) { clock_.Advance(time); }};
    return OpenInTime(
        [&]() -> OpenedStore {
          if (++opened_ > tries) return std::make_unique<NoStore>();
          return absl::Status(refusal, "store: it is away");
        },
        wait);
  }

  testing::FakeClock clock_;
  int opened_ = 0;
};

TEST_F(StoreWaitTest, AStoreThatComesInTimeIsOpened) {
  for (const int tries : {0, 1, 10}) {
    EXPECT_THAT(Open(10, tries), IsOk());
    EXPECT_EQ(opened_, tries + 1);
  }
}

TEST_F(StoreWaitTest, OneThatDoesNotIsGivenUpInTime) {
  EXPECT_THAT(Open(10, 11).status(),
              StatusIs(absl::StatusCode::kUnavailable, "store: it is away"));
  EXPECT_EQ(opened_, 11);
}

TEST_F(StoreWaitTest, WithoutPatienceItIsTriedOnce) {
  EXPECT_THAT(Open(0, 1).status(),
              StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
  EXPECT_EQ(opened_, 1);
}

TEST_F(StoreWaitTest, WhatNoTimeMendsIsToldAtOnce) {
  for (const auto code :
       {absl::StatusCode::kFailedPrecondition, absl::StatusCode::kDataLoss}) {
    EXPECT_THAT(Open(10, 1, code).status(), StatusIs(code, ::testing::_));
    EXPECT_EQ(opened_, 1);
  }
}

}  // namespace
}  // namespace evenpack
