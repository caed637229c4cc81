#include "gpu_worker/service/shape_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evenpack/v1/worker_service.pb.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;

TEST(ShapeMessagesTest, AShapeComesBackAsItWas) {
  for (const ElementType type : kElementTypes) {
    AttentionShape shape;
    shape.type = type;
    shape.query_heads = 12;
    shape.kv_heads = 4;
    shape.head_size = 192;
    shape.scale = 0.25F;
    shape.sliding_window = 77;
    v1::AttentionShape message;
    ToMessage(shape, message);
    const auto read = FromMessage(message);
    ASSERT_THAT(read, IsOk());
    EXPECT_EQ(*read, shape);
  }
}

TEST(ShapeMessagesTest, WhatIsNoShapeIsRefusedByField) {
  v1::AttentionShape message;
  ToMessage({}, message);
  message.set_type(v1::ELEMENT_TYPE_UNSPECIFIED);
  EXPECT_THAT(FromMessage(message),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("shape.type: 0")));
  ToMessage({}, message);
  message.set_head_size(100);
  EXPECT_THAT(FromMessage(message), StatusIs(absl::StatusCode::kInvalidArgument,
                                             HasSubstr("head_size: 100")));
}

}  // namespace
}  // namespace evenpack::worker
