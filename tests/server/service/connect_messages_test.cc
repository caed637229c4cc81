#include "server/service/connect_messages.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "evenpack/v1/packing_service.pb.h"
#include "server/service/message_bytes.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::IsOk;

ConnectPeers Epoch(uint64_t epoch) {
  return {epoch, std::make_shared<const GroupAddresses>(GroupAddresses{"a:1", "b:1"})};
}

std::string Told(grpc::ByteBuffer bytes) {
  v1::JoinGroupResponse response;
  EXPECT_THAT(ReadMessage(bytes, response), IsOk());
  return response.ShortDebugString();
}

TEST(ConnectMessagesTest, IsEncodedOnceForAllMembersOfAnEpoch) {
  ConnectMessages messages;
  const ConnectPeers connect = Epoch(7);
  const auto one = messages.Get(connect);
  EXPECT_EQ(Told(*one), "connect { epoch: 7 addresses: \"a:1\" addresses: \"b:1\" }");
  EXPECT_EQ(messages.Get(connect), one);
  const ConnectPeers other = Epoch(7);
  EXPECT_NE(messages.Get(other), one) << "of another group";
  EXPECT_EQ(Told(*messages.Get({8, connect.addresses})),
            "connect { epoch: 8 addresses: \"a:1\" addresses: \"b:1\" }");
}

TEST(ConnectMessagesTest, AMessageGoesWithTheLastWhoIsTold) {
  ConnectMessages messages;
  const ConnectPeers connect = Epoch(1);
  auto held = messages.Get(connect);
  const std::weak_ptr<const grpc::ByteBuffer> bytes = held;
  held.reset();
  EXPECT_TRUE(bytes.expired());
  EXPECT_EQ(messages.size(), 1U);
  const auto other = messages.Get(Epoch(1));
  EXPECT_EQ(messages.size(), 1U) << "what nobody holds is forgotten";
  EXPECT_EQ(Told(*messages.Get(connect)), Told(*other));
}

}  // namespace
}  // namespace evenpack
