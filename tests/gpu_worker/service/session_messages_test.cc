#include "gpu_worker/service/session_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "evenpack/v1/worker_service.pb.h"
#include "gpu_worker/service/shape_messages.h"
#include "server/core/digest/digest_bytes.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;

v1::OpenSessionRequest Accepted() {
  v1::OpenSessionRequest message;
  message.set_job("run");
  message.set_dp_rank(3);
  message.set_cp_rank(1);
  message.set_from_step(9);
  message.set_member("host-1");
  ToMessage(AttentionShape{}, *message.mutable_shape());
  return message;
}

TEST(SessionMessagesTest, ARequestIsReadWhole) {
  v1::OpenSessionRequest message = Accepted();
  message.set_last_digest(DigestBytes({5, 6}));
  message.set_head_groups(2);
  const auto request = FromMessage(message);
  ASSERT_THAT(request, IsOk());
  EXPECT_EQ(request->steps.job, "run");
  EXPECT_EQ(request->steps.dp_rank, 3U);
  EXPECT_EQ(request->steps.cp_rank, 1U);
  EXPECT_EQ(request->steps.from_step, 9U);
  EXPECT_EQ(request->steps.last_digest, (Digest128{5, 6}));
  // The trainer sends the marks, and what it waited for.
  EXPECT_FALSE(request->steps.sends_durable);
  EXPECT_FALSE(request->steps.reports_waits);
  EXPECT_EQ(request->member, "host-1");
  EXPECT_EQ(request->shape, AttentionShape{});
  EXPECT_EQ(request->head_groups, 2U);
}

TEST(SessionMessagesTest, WhatIsLeftOutHasItsDefault) {
  const auto request = FromMessage(Accepted());
  ASSERT_THAT(request, IsOk());
  EXPECT_FALSE(request->steps.last_digest.has_value());
  EXPECT_EQ(request->head_groups, 4U);
}

TEST(SessionMessagesTest, WhatIsOutOfRangeIsRefusedByField) {
  struct Case {
    std::function<void(v1::OpenSessionRequest&)> change;
    std::string message;
  };
  for (const Case& c : {
           Case{[](auto& m) { m.clear_member(); }, "member: "},
           Case{[](auto& m) { m.set_member(std::string(257, 'm')); }, "member: "},
           Case{[](auto& m) { m.set_last_digest("short"); }, "last_digest: 5 bytes"},
           Case{[](auto& m) { m.set_last_digest(std::string(32, 'd')); },
                "last_digest: 32 bytes"},
           Case{[](auto& m) { m.set_head_groups(1025); }, "head_groups: 1025"},
           Case{[](auto& m) { m.clear_shape(); }, "shape.type: 0"},
       }) {
    v1::OpenSessionRequest message = Accepted();
    c.change(message);
    EXPECT_THAT(FromMessage(message),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.message)));
  }
}

TEST(SessionMessagesTest, SaysWhatARowTakes) {
  AttentionShape shape;
  shape.type = ElementType::kBfloat16;
  shape.query_heads = 8;
  shape.kv_heads = 2;
  shape.head_size = 128;
  v1::OpenSessionResponse message;
  ToMessage(OpenedSession{4, 1000}, shape, message);
  EXPECT_EQ(message.cp_size(), 4U);
  EXPECT_EQ(message.scratch_bytes(), 1000U);
  const uint64_t query = 8 * 128 * 2;
  const uint64_t key = 2 * 128 * 2;
  EXPECT_EQ(message.forward_bytes_per_row(), 2 * query + 2 * key + 8 * 4);
  EXPECT_EQ(message.backward_bytes_per_row(), 2 * query + 2 * key);
}

TEST(SessionMessagesTest, AStatusIsToldWhole) {
  v1::GetWorkerResponse idle;
  ToMessage(SidecarStatus{}, idle);
  EXPECT_EQ(idle.trainer_process(), 0U);
  EXPECT_FALSE(idle.has_session());

  SidecarStatus status;
  status.trainer = AttachedTrainer{12, 0, {}};
  status.arena_bytes = 64;
  status.session = {"run", 3, 1, 4, {20, 7, true, 2}};
  v1::GetWorkerResponse message;
  ToMessage(status, message);
  EXPECT_EQ(message.trainer_process(), 12U);
  EXPECT_EQ(message.arena_bytes(), 64U);
  EXPECT_EQ(message.session().job(), "run");
  EXPECT_EQ(message.session().dp_rank(), 3U);
  EXPECT_EQ(message.session().cp_rank(), 1U);
  EXPECT_EQ(message.session().cp_size(), 4U);
  EXPECT_EQ(message.session().submissions(), 20U);
  EXPECT_EQ(message.session().step(), 7U);
  EXPECT_TRUE(message.session().step_ended());
  EXPECT_EQ(message.session().epoch(), 2U);
}

}  // namespace
}  // namespace evenpack::worker
