#include "client/cli/online/step_report.h"

#include <gmock/gmock.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "evenpack/v1/step.pb.h"
#include "tests/client/cpp/test_history.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::MakeMicroBatch;
using ::evenpack::testing::MakePlan;
using ::evenpack::testing::TestHistory;
using ::evenpack::testing::ToMessage;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;

client::RankStep Received(const v1::Step& message) {
  auto spec = TestHistory(0).spec();
  spec.add_streams()->set_name("books");
  const auto step = client::RankStep::FromMessage(
      message, std::make_shared<const v1::JobSpec>(std::move(spec)));
  EXPECT_THAT(step, IsOk());
  return *step;
}

// Step 5 of DP rank 1: micro-batch 2 has two documents, the second a piece of another
// stream's; micro-batch 3 is empty.
v1::Step TwoMicroBatches(std::optional<uint32_t> cp_rank = std::nullopt) {
  v1::Step message;
  message.set_index(5);
  message.set_dp_rank(1);
  message.set_kind(v1::STEP_KIND_DRAIN);
  message.set_digest(std::string("\x01\x23\x45\x67\x89\xab\xcd\xef", 8) +
                     std::string(8, '\0'));
  message.set_previous_digest(std::string(16, '\0'));
  message.mutable_totals()->set_tokens(31);
  message.mutable_totals()->set_micro_batches(4);
  message.mutable_totals()->set_max_workload_ns(11'000);
  message.mutable_totals()->set_total_workload_ns(22'000);
  const std::vector<uint32_t> lengths = {7, 4};
  const ShardPlan plan = MakePlan(Sharding::kPerDocument, lengths, 2, 4);
  v1::MicroBatch& full = *message.add_micro_batches();
  full = ToMessage(MakeMicroBatch(lengths, plan, 40), plan, 2, cp_rank);
  full.mutable_documents()->add_stream(0);
  full.mutable_documents()->add_stream(1);
  full.mutable_documents()->add_offset(0);
  full.mutable_documents()->add_offset(9);
  full.mutable_documents()->add_document_length(7);
  full.mutable_documents()->add_document_length(13);
  const ShardPlan none = MakePlan(Sharding::kPerSequence, {}, 2);
  *message.add_micro_batches() = ToMessage(MakeMicroBatch({}, none), none, 3, cp_rank);
  return message;
}

TEST(StepJsonTest, IsOneLineWithWhatARankNeeds) {
  const std::string line = StepJson(Received(TwoMicroBatches()));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  Json json = Json::parse(line);
  EXPECT_EQ(json["micro_batches"][0]["digest"].get<std::string>().size(), 32U);
  for (Json& micro_batch : json["micro_batches"]) micro_batch["digest"] = "...";
  EXPECT_EQ(json.dump(),
            R"({"step":5,"dp_rank":1,"micro_batches":[)"
            R"({"index":2,"tokens":11,"padding":1,"workload_ns":11000,"documents":[)"
            R"({"stream":"web","sequence":40,"id":1040,"offset":0,"length":7},)"
            R"({"stream":"books","sequence":41,"id":1041,"offset":9,"length":4}],)"
            R"("sharding":"per_document","digest":"..."},)"
            R"({"index":3,"tokens":0,"padding":0,"workload_ns":0,"documents":[],)"
            R"("sharding":"per_sequence","digest":"..."}],)"
            R"("digest":"0123456789abcdef0000000000000000"})");
}

TEST(StepJsonTest, HasTheSlicesOfTheCpRankThatWasAskedFor) {
  const Json json = Json::parse(StepJson(Received(TwoMicroBatches(1))));
  // Padded, 7 and 4 tokens are 8 and 4: slots of 2 and 1, of which rank 1 has the two
  // in the middle.
  EXPECT_EQ(json["micro_batches"][0]["slices"].dump(),
            R"([{"document":0,"begin":2,"end":4},{"document":1,"begin":1,"end":2},)"
            R"({"document":0,"begin":4,"end":6},{"document":1,"begin":2,"end":3}])");
  EXPECT_EQ(json["micro_batches"][1]["slices"], Json::array());
  std::vector<std::string> keys;
  for (const auto& item : json["micro_batches"][0].items()) keys.push_back(item.key());
  EXPECT_THAT(keys,
              ::testing::ElementsAre("index", "tokens", "padding", "workload_ns",
                                     "documents", "sharding", "slices", "digest"));
}

TEST(StepJsonTest, ANumberWithoutAStreamStandsForItself) {
  v1::Step message = TwoMicroBatches();
  message.mutable_micro_batches(0)->mutable_documents()->set_stream(1, 7);
  const Json json = Json::parse(StepJson(Received(message)));
  EXPECT_EQ(json["micro_batches"][0]["documents"][1]["stream"], "#7");
}

TEST(StepTextTest, ShowsEachMicroBatchBesideTheHeaviestOfTheStep) {
  const std::string text = StepText(Received(TwoMicroBatches()));
  EXPECT_THAT(text, HasSubstr("step 5 (drain): DP rank 1 has 2 of 4 micro-batches, 31 "
                              "tokens in all, imbalance 2.0000, digest 01234567"));
  EXPECT_THAT(text, HasSubstr("0.011  ##############################  per_document\n"));
  EXPECT_THAT(text, HasSubstr("per_sequence\n"));
  EXPECT_THAT(text, Not(HasSubstr("CP rank")));
}

TEST(StepTextTest, ShowsWhatTheCpRankHolds) {
  const std::string text = StepText(Received(TwoMicroBatches(1)));
  EXPECT_THAT(text, HasSubstr("CP rank  slices  its tokens\n"));
  EXPECT_THAT(text, HasSubstr("1       4           6\n"));
}

}  // namespace
}  // namespace evenpack
