#include "client/cpp/job_of_request.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

namespace evenpack::client {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Calls about a job have it in one of these fields.
constexpr const char* kJobFields[] = {"job", "name"};
// Streams say it in one of these messages, which come first.
constexpr const char* kOpeningFields[] = {"open", "subscribe"};

}  // namespace

std::string JobOfRequest(const Message& request) {
  const auto& type = *request.GetDescriptor();
  const auto& reflection = *request.GetReflection();
  for (const char* const name : kJobFields) {
    const FieldDescriptor* const field = type.FindFieldByName(name);
    if (field != nullptr && field->type() == FieldDescriptor::TYPE_STRING) {
      return reflection.GetString(request, field);
    }
  }
  for (const char* const name : kOpeningFields) {
    const FieldDescriptor* const field = type.FindFieldByName(name);
    if (field != nullptr && reflection.HasField(request, field)) {
      return JobOfRequest(reflection.GetMessage(request, field));
    }
  }
  return {};
}

}  // namespace evenpack::client
