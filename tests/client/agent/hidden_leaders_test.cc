#include "client/agent/hidden_leaders.h"

#include <gmock/gmock.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>
#include <gtest/gtest.h>

#include <string>

#include "client/cpp/error_details.h"
#include "evenpack/v1/packing_service.pb.h"
#include "tests/client/cpp/servers_fixture.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::agent {
namespace {

using evenpack::testing::kUnavailable;
using evenpack::testing::LedAt;
using evenpack::testing::NobodyLeads;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(HiddenLeadersTest, ARedirectTellsTheClientToAskAgain) {
  const absl::Status status = WithoutLeader(LedAt("b:1"));
  EXPECT_THAT(status, StatusIs(kUnavailable, Not(HasSubstr("b:1"))));
  const client::ErrorDetails details = client::DetailsOf(status);
  EXPECT_EQ(details.reason, "NO_LEADER");
  EXPECT_THAT(details.metadata, ::testing::ElementsAre(::testing::Pair("job", "run")));
  EXPECT_EQ(details.retry_delay, std::chrono::milliseconds(200));
  for (const absl::Status& other :
       {NobodyLeads(), absl::OkStatus(), absl::NotFoundError("no job")}) {
    EXPECT_EQ(WithoutLeader(other), other);
  }
}

std::string TextOf(const grpc::ByteBuffer& bytes) {
  grpc::Slice slice;
  EXPECT_TRUE(bytes.DumpToSingleSlice(&slice).ok());
  return {reinterpret_cast<const char*>(slice.begin()), slice.size()};
}

grpc::ByteBuffer BufferOf(const std::string& text) {
  const grpc::Slice slice(text);
  return {&slice, 1};
}

TEST(HiddenLeadersTest, AddressesOfAListAreNotedAndLeftOut) {
  v1::ListJobsResponse listed;
  listed.add_jobs()->set_name("a");
  for (const char* const name : {"b", "c"}) {
    listed.add_led_elsewhere()->set_name(name);
  }
  listed.mutable_led_elsewhere(0)->set_address("x:1");
  client::LeaderMap leaders({"a:1"});
  v1::ListJobsResponse hidden;
  EXPECT_TRUE(hidden.ParseFromString(
      TextOf(WithoutAddresses(BufferOf(listed.SerializeAsString()), leaders))));
  listed.mutable_led_elsewhere(0)->clear_address();
  EXPECT_EQ(hidden.SerializeAsString(), listed.SerializeAsString());
  EXPECT_EQ(leaders.AddressFor("b"), "x:1");
  EXPECT_EQ(leaders.AddressFor("c"), "a:1");
}

TEST(HiddenLeadersTest, WhatIsNoListStaysAsItIs) {
  client::LeaderMap leaders({"a:1"});
  for (const std::string bytes : {"", "\xff\xff"}) {
    EXPECT_EQ(TextOf(WithoutAddresses(BufferOf(bytes), leaders)), bytes);
  }
}

}  // namespace
}  // namespace evenpack::agent
