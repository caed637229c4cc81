// The job that a call is about whose messages are only bytes.
#ifndef EVENPACK_CLIENT_AGENT_JOB_OF_CALL_H_
#define EVENPACK_CLIENT_AGENT_JOB_OF_CALL_H_

#include <string>

namespace grpc {
class ByteBuffer;
}

namespace evenpack::agent {

// `method`: "/evenpack.v1.PackingService/GetJob". `first`: the call's first message.
// Empty where the method is of no service that is known here, or the bytes are no
// message of it.
std::string JobOfCall(const std::string& method, const grpc::ByteBuffer& first);

}  // namespace evenpack::agent

#endif  // EVENPACK_CLIENT_AGENT_JOB_OF_CALL_H_
