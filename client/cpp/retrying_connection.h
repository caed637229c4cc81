// The real connection: retries, reconnects, prefetches.
#ifndef EVENPACK_CLIENT_CPP_RETRYING_CONNECTION_H_
#define EVENPACK_CLIENT_CPP_RETRYING_CONNECTION_H_

#include <memory>
#include <stop_token>

#include "client/cpp/client_options.h"
#include "client/cpp/connection.h"
#include "client/cpp/stub.h"

namespace evenpack::client {

// `options` are valid; the address isn't looked at. Once `stop` is requested its calls,
// and waits for a producer to be opened, return an error; what was opened goes on.
std::shared_ptr<Connection> MakeRetryingConnection(std::shared_ptr<Stub> stub,
                                                   const ClientOptions& options,
                                                   const std::stop_token& stop = {});

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_RETRYING_CONNECTION_H_
