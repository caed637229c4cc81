// What the options say of the gRPC port's messages, calls and connections.
#ifndef EVENPACK_SERVER_APP_TRANSPORT_LIMITS_H_
#define EVENPACK_SERVER_APP_TRANSPORT_LIMITS_H_

#include <grpcpp/server_builder.h>

#include "server/app/server_options.h"

namespace evenpack {

void SetTransportLimits(const ServerOptions& options, grpc::ServerBuilder& builder);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_APP_TRANSPORT_LIMITS_H_
