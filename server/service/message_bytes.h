// The messages of streams as bytes. gRPC itself would tell of one that can't be read
// what it tells of a half-close, and a producer would take what it lost for accepted.
#ifndef EVENPACK_SERVER_SERVICE_MESSAGE_BYTES_H_
#define EVENPACK_SERVER_SERVICE_MESSAGE_BYTES_H_

#include <grpcpp/support/byte_buffer.h>

#include "absl/status/status.h"

namespace google::protobuf {
class Message;
}

namespace evenpack {

// Empties `bytes`. INVALID_ARGUMENT names the message's type.
absl::Status ReadMessage(grpc::ByteBuffer& bytes, google::protobuf::Message& message);

grpc::ByteBuffer MessageBytes(const google::protobuf::Message& message);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_MESSAGE_BYTES_H_
