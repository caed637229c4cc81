// The messages of gRPC's calls as bytes. Its callback API tells of an answer that can't
// be read what it tells of one that was, and of a stream's what it tells of the end.
#ifndef EVENPACK_CLIENT_CPP_ANSWER_BYTES_H_
#define EVENPACK_CLIENT_CPP_ANSWER_BYTES_H_

#include <grpcpp/support/byte_buffer.h>

#include <string>

#include "absl/status/status.h"

namespace google::protobuf {
class Message;
}

namespace evenpack::client {

// Empties `bytes`. DATA_LOSS, which names `method` and the type, where they are no such
// message, or none at all; `answer` has a part of it then.
absl::Status ReadAnswer(const std::string& method, grpc::ByteBuffer& bytes,
                        google::protobuf::Message& answer);

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_ANSWER_BYTES_H_
