#include "client/cpp/answer_bytes.h"

#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include "client/cpp/data_loss.h"

namespace evenpack::client {

absl::Status ReadAnswer(const std::string& method, grpc::ByteBuffer& bytes,
                        google::protobuf::Message& answer) {
  using Traits = grpc::SerializationTraits<google::protobuf::Message>;
  const grpc::Status read = Traits::Deserialize(&bytes, &answer);
  bytes.Clear();
  if (read.ok()) return absl::OkStatus();
  return DataLoss(method, ": the server's answer can't be read as an ",
                  answer.GetTypeName());
}

}  // namespace evenpack::client
