#include "server/service/message_bytes.h"

#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

using Traits = grpc::SerializationTraits<google::protobuf::Message>;

}  // namespace

absl::Status ReadMessage(grpc::ByteBuffer& bytes, google::protobuf::Message& message) {
  const grpc::Status parsed = Traits::Deserialize(&bytes, &message);
  bytes.Clear();
  if (parsed.ok()) return absl::OkStatus();
  return InvalidField("message", "bytes that can't be read",
                      absl::StrCat("an ", message.GetTypeName()));
}

grpc::ByteBuffer MessageBytes(const google::protobuf::Message& message) {
  grpc::ByteBuffer bytes;
  bool own = false;
  Traits::Serialize(message, &bytes, &own);
  return bytes;
}

}  // namespace evenpack
