// gRPC servers without gRPC's reflection.
#ifndef EVENPACK_SERVER_SERVICE_WITHOUT_REFLECTION_H_
#define EVENPACK_SERVER_SERVICE_WITHOUT_REFLECTION_H_

#include <grpcpp/server_builder.h>

namespace evenpack {

// Before the server is built. A program that links the reflection library has it on
// each of its servers, asked for or not: it asks callers for no role, and each of its
// streams takes a thread.
void LeaveOutReflection(grpc::ServerBuilder& builder);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_WITHOUT_REFLECTION_H_
