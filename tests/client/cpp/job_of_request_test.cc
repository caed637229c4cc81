#include "client/cpp/job_of_request.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "evenpack/v1/packing_service.pb.h"

namespace evenpack::client {
namespace {

TEST(JobOfRequest, IsInTheFirstMessageOfEveryCallAboutOne) {
  const auto& service = *v1::ListJobsRequest::descriptor()->file()->service(0);
  ASSERT_EQ(service.name(), "PackingService");
  google::protobuf::DynamicMessageFactory factory;
  for (int i = 0; i < service.method_count(); ++i) {
    const auto& method = *service.method(i);
    if (method.name() == "ListJobs") continue;
    const std::unique_ptr<google::protobuf::Message> request(
        factory.GetPrototype(method.input_type())->New());
    // By its number, which is 1 everywhere, also of what opens a stream.
    google::protobuf::Message* holder = request.get();
    const auto* field = method.input_type()->FindFieldByNumber(1);
    if (method.client_streaming()) {
      holder = holder->GetReflection()->MutableMessage(holder, field);
      field = holder->GetDescriptor()->FindFieldByNumber(1);
    }
    holder->GetReflection()->SetString(holder, field, "run-7");
    EXPECT_EQ(JobOfRequest(*request), "run-7") << method.name();
  }
}

TEST(JobOfRequest, IsEmptyWhereThereIsNone) {
  EXPECT_EQ(JobOfRequest(v1::ListJobsRequest()), "");
  v1::IngestRequest batch;
  batch.mutable_batch()->set_first_sequence(1);
  EXPECT_EQ(JobOfRequest(batch), "");
}

}  // namespace
}  // namespace evenpack::client
