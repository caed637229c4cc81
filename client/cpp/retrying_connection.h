// The real connection: retries, reconnects, prefetches.
#ifndef EVENPACK_CLIENT_CPP_RETRYING_CONNECTION_H_
#define EVENPACK_CLIENT_CPP_RETRYING_CONNECTION_H_

#include <memory>

#include "client/cpp/client_options.h"
#include "client/cpp/connection.h"
#include "client/cpp/stub.h"

namespace evenpack::client {

// `options` are valid; the address isn't looked at.
std::shared_ptr<Connection> MakeRetryingConnection(std::shared_ptr<Stub> stub,
                                                   const ClientOptions& options);

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_RETRYING_CONNECTION_H_
