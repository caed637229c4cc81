// gRPC servers that take no compressed messages.
#ifndef EVENPACK_SERVER_SERVICE_WITHOUT_COMPRESSION_H_
#define EVENPACK_SERVER_SERVICE_WITHOUT_COMPRESSION_H_

#include <grpcpp/server_builder.h>

namespace evenpack {

// Before the server is built. gRPC inflates a message whole before it looks at its size
// or asks who sent it: a thousandth of what is then in memory was sent. Callers that
// compress are told UNIMPLEMENTED.
void LeaveOutCompression(grpc::ServerBuilder& builder);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_WITHOUT_COMPRESSION_H_
