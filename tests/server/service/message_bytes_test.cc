#include "server/service/message_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "evenpack/v1/packing_service.pb.h"
#include "server/core/document/invalid_field.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

grpc::ByteBuffer BufferOf(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

TEST(MessageBytesTest, AMessageIsReadFromItsBytes) {
  v1::IngestRequest sent;
  sent.mutable_end_of_stream()->set_documents(7);
  grpc::ByteBuffer bytes = MessageBytes(sent);
  v1::IngestRequest read;
  read.mutable_open();
  EXPECT_THAT(ReadMessage(bytes, read), IsOk());
  EXPECT_FALSE(read.has_open());
  EXPECT_EQ(read.end_of_stream().documents(), 7U);
  EXPECT_EQ(bytes.Length(), 0U);
}

TEST(MessageBytesTest, BytesThatAreNoMessageAreRefusedByItsName) {
  for (const std::string& wrong :
       {std::string("\xff\xff\xff"), std::string("\x12\x7f\x01"),
        std::string("\x0a\x04\x0a\x02\xff\xff")}) {
    grpc::ByteBuffer bytes = BufferOf(wrong);
    v1::IngestRequest read;
    const absl::Status status = ReadMessage(bytes, read);
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                                 HasSubstr("accepted: an evenpack.v1.IngestRequest")));
    EXPECT_EQ(RefusedField(status), "message");
  }
}

}  // namespace
}  // namespace evenpack
