#include "server/service/rewind_conversion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <variant>

#include "evenpack/v1/packing_service.pb.h"
#include "server/core/document/invalid_field.h"
#include "tests/server/service/service_spec.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using testing::ServiceSpec;
using testing::StatusIs;

template <typename Request>
void AddRange(Request& request) {
  v1::DocumentRange& range = *request.add_skip();
  range.set_stream("a");
  range.set_first_sequence(5);
  range.set_documents(6);
}

TEST(RewindConversionTest, AStepWithOrWithoutASpec) {
  v1::RewindJobRequest request;
  request.set_from_step(0);
  AddRange(request);
  auto command = std::get<RewindJob>(FromProto(request).value());
  EXPECT_EQ(command.from_step, 0U);
  EXPECT_FALSE(command.spec.has_value());
  ASSERT_EQ(command.skip.size(), 1U);
  EXPECT_EQ(command.skip[0].stream, "a");
  EXPECT_EQ(command.skip[0].first_sequence, 5U);
  EXPECT_EQ(command.skip[0].documents, 6U);
  *request.mutable_spec() = ServiceSpec();
  command = std::get<RewindJob>(FromProto(request).value());
  EXPECT_EQ(command.spec->window, 100U);
}

TEST(RewindConversionTest, ACheckpointHasItsOwnSpec) {
  v1::RewindJobRequest request;
  request.set_checkpoint("state");
  AddRange(request);
  const auto command = std::get<RewindToCheckpoint>(FromProto(request).value());
  EXPECT_EQ(command.checkpoint, "state");
  EXPECT_EQ(command.skip.size(), 1U);
  request.mutable_spec();
  EXPECT_THAT(FromProto(request).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("spec: ")));
}

TEST(RewindConversionTest, OneOfTheTwoIsNeeded) {
  EXPECT_THAT(FromProto(v1::RewindJobRequest()).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("accepted: from_step or checkpoint")));
}

TEST(RewindConversionTest, ASkipBeginsAtTheNextStepUnlessItSays) {
  v1::SkipDocumentsRequest request;
  AddRange(request);
  EXPECT_EQ(FromProto(request, 7).from_step, 7U);
  request.set_from_step(0);
  EXPECT_EQ(FromProto(request, 7).from_step, 0U);
  EXPECT_EQ(FromProto(request, 7).skip.size(), 1U);
}

TEST(RewindConversionTest, FieldsOfTheSpecHaveTheirNamesInTheApi) {
  const auto name = [](const char* field) {
    return RefusedField(InRewindNames(InvalidField(field, 1, "2")));
  };
  EXPECT_EQ(name("streams"), "spec.streams");
  EXPECT_EQ(name("skip[0].documents"), "skip[0].documents");
  EXPECT_EQ(name("checkpoint"), "checkpoint");
}

}  // namespace
}  // namespace evenpack
