#include "server/service/batch_conversion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evenpack/v1/packing_service.pb.h"
#include "server/core/document/invalid_field.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;
using testing::StatusIs;

TEST(BatchConversionTest, ColumnsAreTakenAsTheyAre) {
  v1::DocumentBatch batch;
  batch.set_first_sequence(7);
  batch.add_length(10);
  batch.add_length(20);
  batch.add_id(3);
  batch.add_loss_tokens(4);
  batch.add_source(5);
  batch.set_token_ids("tokens");
  const Ingest ingest = FromProto("a", batch).value();
  EXPECT_EQ(ingest.stream, "a");
  EXPECT_EQ(ingest.first_sequence, 7U);
  EXPECT_THAT(ingest.lengths, ElementsAre(10, 20));
  EXPECT_THAT(ingest.ids, ElementsAre(3));
  EXPECT_THAT(ingest.loss_tokens, ElementsAre(4));
  EXPECT_THAT(ingest.sources, ElementsAre(5));
  EXPECT_EQ(ingest.token_ids, "tokens");
}

TEST(BatchConversionTest, ABatchHasADocumentAndNotMoreThanTheBound) {
  const auto of = [](int documents) {
    v1::DocumentBatch batch;
    batch.mutable_length()->Resize(documents, 1);
    return FromProto("a", batch);
  };
  EXPECT_THAT(of(0), StatusIs(absl::StatusCode::kInvalidArgument,
                              StartsWith("batch.length: no value ")));
  EXPECT_EQ(of(1'048'576)->lengths.size(), 1'048'576U);
  EXPECT_THAT(of(1'048'577), StatusIs(absl::StatusCode::kInvalidArgument,
                                      StartsWith("batch.length: 1048577 documents ")));
}

TEST(BatchConversionTest, TokensAreInTheBatchOrInAFile) {
  v1::DocumentBatch batch;
  batch.add_length(1);
  EXPECT_FALSE(FromProto("a", batch)->token_file.has_value());
  batch.mutable_token_file()->set_path("/t.bin");
  batch.mutable_token_file()->set_token_bytes(2);
  batch.mutable_token_file()->add_offset(6);
  EXPECT_EQ(FromProto("a", batch)->token_file, (TokenFile{"/t.bin", 2, {6}}));
  batch.set_token_ids("1234");
  EXPECT_THAT(FromProto("a", batch), StatusIs(absl::StatusCode::kInvalidArgument,
                                              StartsWith("batch.token_file: ")));
}

TEST(BatchConversionTest, ColumnsHaveTheNamesOfTheApi) {
  const auto named = [](absl::string_view field) {
    return RefusedField(InBatchNames(InvalidField(field, 1, "2")));
  };
  EXPECT_EQ(named("lengths[3]"), "batch.length[3]");
  EXPECT_EQ(named("ids"), "batch.id");
  EXPECT_EQ(named("sources[0]"), "batch.source[0]");
  EXPECT_EQ(named("token_ids"), "batch.token_ids");
  EXPECT_EQ(named("loss_tokens[1]"), "batch.loss_tokens[1]");
}

}  // namespace
}  // namespace evenpack
