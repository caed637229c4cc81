#include "client/cpp/call_progress.h"

#include <gtest/gtest.h>

#include "client/cpp/mocks/fake_clock.h"

namespace evenpack::client {
namespace {

using std::chrono::seconds;

class CallProgressTest : public ::testing::Test {
 protected:
  CallProgressTest() { backoff_.NextDelay(); }

  CallProgress Begin() { return CallProgress(backoff_, clock_, seconds(10)); }

  const std::function<double()> random_ = [] { return 0.5; };
  FakeClock clock_;
  Backoff backoff_{{}, clock_, random_};
};

TEST_F(CallProgressTest, AnAnswerAloneDoesNotEndARowOfFailures) {
  CallProgress call = Begin();
  call.Answered();
  clock_.Advance(seconds(9));
  call.Answered();
  call.Ended();
  EXPECT_EQ(backoff_.failures(), 1);
}

TEST_F(CallProgressTest, WhatACallIsForEndsIt) {
  CallProgress call = Begin();
  call.Answered();
  call.GotOn();
  EXPECT_EQ(backoff_.failures(), 0);
}

TEST_F(CallProgressTest, ACallThatLastsSinceItsFirstAnswerEndsIt) {
  CallProgress call = Begin();
  call.Answered();
  clock_.Advance(seconds(9));
  call.Answered();
  clock_.Advance(seconds(1));
  call.Ended();
  EXPECT_EQ(backoff_.failures(), 0);
}

TEST_F(CallProgressTest, ACallThatNobodyAnsweredDoesNot) {
  CallProgress call = Begin();
  clock_.Advance(seconds(100));
  call.Ended();
  EXPECT_EQ(backoff_.failures(), 1);
}

}  // namespace
}  // namespace evenpack::client
