#include "client/cli/online/message_json.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include <nlohmann/json.hpp>

#include "evenpack/v1/job.pb.h"

namespace evenpack {
namespace {

using Json = nlohmann::ordered_json;

TEST(MessageJsonTest, WritesEveryFieldThatHasNoPresence) {
  v1::StreamStatus status;
  status.set_name("web");
  EXPECT_EQ(MessageJson(status).dump(),
            R"({"name":"web","next_sequence":0,"ended":false,"buffered_documents":0,)"
            R"("buffered_tokens":0,"skipped":[]})");
}

TEST(MessageJsonTest, LeavesOutWhatIsNotSetWherePresenceIsKnown) {
  v1::JobSpec spec;
  Json json = MessageJson(spec);
  EXPECT_FALSE(json.contains("max_delay"));
  EXPECT_FALSE(json.contains("parallelism"));
  EXPECT_EQ(json["streams"], Json::array());
  spec.set_max_delay(0);
  spec.mutable_policy()->mutable_wlb()->add_queue_thresholds(5);
  json = MessageJson(spec);
  EXPECT_EQ(json["max_delay"], 0);
  EXPECT_EQ(json["policy"].dump(), R"({"wlb":{"queue_thresholds":[5]}})");
}

TEST(MessageJsonTest, NumbersAreNumbersEnumsNamesAndBytesHexadecimal) {
  v1::Job job;
  job.set_next_step(18446744073709551615U);
  job.set_digest(std::string("\x00\xff\x10", 3));
  job.add_durable_steps_per_rank(7);
  job.mutable_spec()->set_merge(v1::MERGE_MODE_ARRIVAL);
  job.mutable_spec()->set_backlog_limit(2.5);
  const Json json = MessageJson(job);
  EXPECT_EQ(json["next_step"].dump(), "18446744073709551615");
  EXPECT_EQ(json["digest"], "00ff10");
  EXPECT_EQ(json["durable_steps_per_rank"].dump(), "[7]");
  EXPECT_EQ(json["spec"]["merge"], "MERGE_MODE_ARRIVAL");
  EXPECT_EQ(json["spec"]["backlog_limit"], 2.5);
}

TEST(MessageJsonTest, AnEnumWithoutANameIsItsNumber) {
  v1::JobSpec spec;
  spec.set_sharding(static_cast<v1::Sharding>(99));
  const Json json = MessageJson(spec);
  EXPECT_EQ(json["sharding"].dump(), "99");
  v1::JobSpec back;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json.dump(), &back).ok());
  EXPECT_EQ(back.sharding(), spec.sharding());
}

TEST(MessageJsonTest, ASpecComesBackAsItWas) {
  v1::JobSpec spec;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(streams { name: "a\"b" weight: 2 } window: 7 max_delay: 18446744073709551615
         policy { fixed_greedy { window_batches: 2 } } sharding: SHARDING_CONTIGUOUS
         cost { table { tokens: [1, 2] attention_ns: [-3, 4] linear_ns: [5, 6] } }
         consumer_layout { shape_ladder: [1, 2] sequence_parallel: true })",
      &spec));
  v1::JobSpec back;
  ASSERT_TRUE(
      google::protobuf::util::JsonStringToMessage(MessageJson(spec).dump(), &back)
          .ok());
  EXPECT_EQ(back.DebugString(), spec.DebugString());
}

}  // namespace
}  // namespace evenpack
