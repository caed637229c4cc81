#include "client/agent/job_of_call.h"

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>
#include <gtest/gtest.h>

#include "evenpack/v1/packing_service.pb.h"

namespace evenpack::agent {
namespace {

template <typename Message>
grpc::ByteBuffer BytesOf(const Message& message) {
  grpc::ByteBuffer bytes;
  bool owned = false;
  EXPECT_TRUE(
      grpc::SerializationTraits<Message>::Serialize(message, &bytes, &owned).ok());
  return bytes;
}

TEST(JobOfCallTest, IsReadFromTheFirstMessageByTheMethod) {
  v1::GetJobRequest job;
  job.set_name("run-7");
  EXPECT_EQ(JobOfCall("/evenpack.v1.PackingService/GetJob", BytesOf(job)), "run-7");
  v1::IngestRequest open;
  open.mutable_open()->set_job("run-8");
  EXPECT_EQ(JobOfCall("/evenpack.v1.PackingService/Ingest", BytesOf(open)), "run-8");
}

TEST(JobOfCallTest, IsEmptyWhereNothingIsKnownOfTheCall) {
  v1::GetJobRequest job;
  job.set_name("run-7");
  for (const char* const method : {"", "/", "GetJob", "/evenpack.v1.PackingService/New",
                                   "/another.Service/GetJob"}) {
    EXPECT_EQ(JobOfCall(method, BytesOf(job)), "") << method;
  }
  const grpc::Slice damaged("\xff\xff");
  EXPECT_EQ(JobOfCall("/evenpack.v1.PackingService/GetJob", {&damaged, 1}), "");
  EXPECT_EQ(JobOfCall("/evenpack.v1.PackingService/GetJob", {}), "");
}

}  // namespace
}  // namespace evenpack::agent
