#include "client/agent/job_of_call.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <memory>

#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "client/cpp/job_of_request.h"

namespace evenpack::agent {

std::string JobOfCall(const std::string& method, const grpc::ByteBuffer& first) {
  const std::string name =
      absl::StrReplaceAll(absl::StripPrefix(method, "/"), {{"/", "."}});
  const auto* const found =
      google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(name);
  if (found == nullptr) return {};
  const std::unique_ptr<google::protobuf::Message> request(
      google::protobuf::MessageFactory::generated_factory()
          ->GetPrototype(found->input_type())
          ->New());
  grpc::Slice bytes;
  if (!first.DumpToSingleSlice(&bytes).ok() ||
      !request->ParseFromArray(bytes.begin(), static_cast<int>(bytes.size()))) {
    return {};
  }
  return client::JobOfRequest(*request);
}

}  // namespace evenpack::agent
