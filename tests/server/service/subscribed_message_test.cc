#include "server/service/subscribed_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "evenpack/v1/packing_service.pb.h"
#include "server/core/digest/digest_bytes.h"
#include "server/service/message_bytes.h"
#include "server/service/spec_conversion.h"
#include "tests/server/service/service_spec.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::IsOk;
using testing::LargeSpec;

Subscribed ToLargeJob() {
  Subscribed subscribed;
  subscribed.spec = std::make_shared<const JobSpec>(FromProto(LargeSpec()).value());
  subscribed.epoch = 3;
  subscribed.from_step = 300;
  subscribed.previous_digest = {7, 8};
  subscribed.durable_steps = 299;
  return subscribed;
}

TEST(SubscribedMessageTest, HasTheSpecAndAllElse) {
  const Subscribed subscribed = ToLargeJob();
  grpc::ByteBuffer bytes = EncodeSubscribed(subscribed);
  v1::StreamStepsResponse response;
  ASSERT_THAT(ReadMessage(bytes, response), IsOk());
  const v1::Subscribed& told = response.subscribed();
  EXPECT_EQ(told.epoch(), 3U);
  EXPECT_EQ(told.from_step(), 300U);
  EXPECT_EQ(told.previous_digest(), DigestBytes(subscribed.previous_digest));
  EXPECT_EQ(told.durable_steps(), 299U);
  EXPECT_EQ(told.spec().SerializeAsString(),
            DescriptionOf(*subscribed.spec).SerializeAsString());
}

TEST(SubscribedMessageTest, SharesTheSpecWhichStaysForAsLong) {
  Subscribed subscribed = ToLargeJob();
  const std::weak_ptr<const JobSpec> spec = subscribed.spec;
  grpc::ByteBuffer bytes = EncodeSubscribed(subscribed);
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(bytes.Dump(&slices).ok());
  ASSERT_EQ(slices.size(), 2U);
  EXPECT_EQ(static_cast<const void*>(slices[1].begin()),
            subscribed.spec->description.data());
  EXPECT_LT(slices[0].size(), 64U);
  subscribed.spec.reset();
  slices.clear();
  EXPECT_FALSE(spec.expired());
  bytes.Clear();
  EXPECT_TRUE(spec.expired());
}

}  // namespace
}  // namespace evenpack
