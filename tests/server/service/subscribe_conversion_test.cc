#include "server/service/subscribe_conversion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "evenpack/v1/packing_service.pb.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::StartsWith;
using testing::StatusIs;

TEST(SubscribeConversionTest, WhatIsLeftOutHasItsDefault) {
  const SubscribeRequest request = FromProto(v1::Subscribe()).value();
  EXPECT_EQ(request.dp_rank, 0U);
  EXPECT_EQ(request.cp_rank, std::nullopt);
  EXPECT_EQ(request.from_step, std::nullopt);
  EXPECT_EQ(request.last_digest, std::nullopt);
  EXPECT_EQ(request.credits, kDefaultCredits);
  EXPECT_EQ(request.epoch, std::nullopt);
  EXPECT_EQ(request.layout, std::nullopt);
}

TEST(SubscribeConversionTest, FieldsAreTakenAsTheyAre) {
  v1::Subscribe from;
  from.set_dp_rank(1);
  from.set_cp_rank(2);
  from.set_subscriber("x");
  from.set_sends_durable(true);
  from.set_from_step(3);
  from.set_last_digest(std::string(16, '\1'));
  from.set_credits(4);
  from.set_epoch(5);
  from.set_layout(v1::LAYOUT_HF_FLAT);
  const SubscribeRequest request = FromProto(from).value();
  EXPECT_EQ(request.dp_rank, 1U);
  EXPECT_EQ(request.cp_rank, 2U);
  EXPECT_EQ(request.subscriber, "x");
  EXPECT_TRUE(request.sends_durable);
  EXPECT_EQ(request.from_step, 3U);
  EXPECT_EQ(request.last_digest, (Digest128{0x0101010101010101U, 0x0101010101010101U}));
  EXPECT_EQ(request.credits, 4U);
  EXPECT_EQ(request.epoch, 5U);
  EXPECT_EQ(request.layout, Layout::kHfFlat);
}

TEST(SubscribeConversionTest, ADigestAndALayoutAreOnes) {
  v1::Subscribe from;
  from.set_last_digest("short");
  EXPECT_THAT(FromProto(from), StatusIs(absl::StatusCode::kInvalidArgument,
                                        StartsWith("last_digest: ")));
  from.clear_last_digest();
  from.set_layout(static_cast<v1::Layout>(99));
  EXPECT_THAT(FromProto(from),
              StatusIs(absl::StatusCode::kInvalidArgument, StartsWith("layout: ")));
}

}  // namespace
}  // namespace evenpack
