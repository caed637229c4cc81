// Counts the calls of each connection, and what of its bytes came to calls and
// messages.
#ifndef EVENPACK_SERVER_APP_CALL_COUNTING_H_
#define EVENPACK_SERVER_APP_CALL_COUNTING_H_

#include <grpcpp/support/server_interceptor.h>

#include <functional>
#include <memory>
#include <string>

#include "server/app/unclaimed_bytes.h"

namespace evenpack {

// Thread-safe. The counts of a peer's connection, as gRPC names the peer; null where it
// has none.
using CountsOfPeer = std::function<std::shared_ptr<CallCounts>(const std::string&)>;

// For the servers that will be built with it.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> CountCalls(
    CountsOfPeer counts_of);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_APP_CALL_COUNTING_H_
