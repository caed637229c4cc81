#include "gpu_worker/cudnn/plan_ladder.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

#include "tests/testing/test_documents.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::Draw;

struct LadderStep {
  int64_t needed;
  int64_t step;
};

constexpr LadderStep kLengthSteps[] = {
    {1, 128},   {127, 128},  {128, 128},   {129, 256},       {256, 256},
    {257, 512}, {513, 1024}, {5000, 8192}, {131072, 131072}, {131073, 262144}};

constexpr LadderStep kSequenceSteps[] = {
    {1, 1},    {2, 4},     {3, 4},      {4, 4},
    {5, 16},   {16, 16},   {17, 64},    {64, 64},
    {65, 256}, {256, 256}, {257, 1024}, {kMostSequences, kMostSequences}};

constexpr int64_t PlanShape::*kLadderFields[] = {
    &PlanShape::sequences, &PlanShape::queries, &PlanShape::keys,
    &PlanShape::all_queries, &PlanShape::all_keys};

// No field of it is on the ladder, nor what it is by default.
PlanShape OffLadder(Pass pass) {
  PlanShape shape;
  shape.pass = pass;
  shape.mask = Mask::kCausal;
  shape.attention.type = ElementType::kBfloat16;
  shape.attention.query_heads = 12;
  shape.attention.kv_heads = 3;
  shape.attention.head_size = 192;
  shape.attention.scale = 0.3F;
  shape.attention.sliding_window = 77;
  shape.sequences = 3;
  shape.queries = 300;
  shape.keys = 700;
  if (pass == Pass::kBackward) {
    shape.all_queries = 900;
    shape.all_keys = 2100;
    shape.key_gradient_stride = 1000;
  }
  shape.query_stride = 2305;
  shape.key_stride = 577;
  shape.log_sum_exp_stride = 13;
  return shape;
}

TEST(PlanLadderTest, CountsOfSequencesArePowersOfFour) {
  for (const LadderStep& of : kSequenceSteps) {
    PlanShape shape;
    shape.sequences = of.needed;
    EXPECT_EQ(OnLadder(shape).sequences, of.step) << of.needed;
  }
}

TEST(PlanLadderTest, LengthsArePowersOfTwo) {
  for (const LadderStep& of : kLengthSteps) {
    PlanShape queries;
    queries.queries = of.needed;
    EXPECT_EQ(OnLadder(queries).queries, of.step) << of.needed;
    EXPECT_EQ(OnLadder(queries).keys, 128);
    PlanShape keys;
    keys.keys = of.needed;
    EXPECT_EQ(OnLadder(keys).keys, of.step) << of.needed;
    EXPECT_EQ(OnLadder(keys).queries, 128);
  }
}

TEST(PlanLadderTest, SumsOfLengthsArePowersOfTwoBackward) {
  for (const LadderStep& of : kLengthSteps) {
    PlanShape shape;
    shape.pass = Pass::kBackward;
    shape.all_queries = of.needed;
    EXPECT_EQ(OnLadder(shape).all_queries, of.step) << of.needed;
    shape.all_queries = 1;
    shape.all_keys = of.needed;
    EXPECT_EQ(OnLadder(shape).all_keys, of.step) << of.needed;
  }
}

// Else forward plans would differ by what they take no account of.
TEST(PlanLadderTest, ForwardThereAreNoSumsOfLengths) {
  const PlanShape shape = OnLadder(OffLadder(Pass::kForward));
  EXPECT_EQ(shape.all_queries, 0);
  EXPECT_EQ(shape.all_keys, 0);
}

TEST(PlanLadderTest, WhatIsNoLengthStays) {
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    PlanShape expected = OffLadder(pass);
    expected.sequences = 4;
    expected.queries = 512;
    expected.keys = 1024;
    if (pass == Pass::kBackward) {
      expected.all_queries = 1024;
      expected.all_keys = 4096;
    }
    EXPECT_EQ(OnLadder(OffLadder(pass)), expected);
  }
}

TEST(PlanLadderTest, AShapeOnTheLadderStays) {
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    const PlanShape shape = OnLadder(OffLadder(pass));
    EXPECT_EQ(OnLadder(shape), shape);
  }
}

TEST(PlanLadderTest, ThereIsRoomForAllThatIsNoLarger) {
  std::mt19937_64 random(1);
  for (int repeat = 0; repeat < 1000; ++repeat) {
    PlanShape least;
    least.pass = Pass::kBackward;
    PlanShape most = least;
    for (int64_t PlanShape::*const field : kLadderFields) {
      least.*field = Draw(random, 1, 3000);
      most.*field = least.*field + Draw(random, 0, 3000);
    }
    const PlanShape of_least = OnLadder(least);
    const PlanShape of_most = OnLadder(most);
    for (int64_t PlanShape::*const field : kLadderFields) {
      ASSERT_GE(of_least.*field, least.*field) << repeat;
      ASSERT_GE(of_most.*field, of_least.*field) << repeat;
    }
  }
}

}  // namespace
}  // namespace evenpack::worker
