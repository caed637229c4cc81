// One call of Ingest.
#ifndef EVENPACK_SERVER_SERVICE_INGEST_CALL_H_
#define EVENPACK_SERVER_SERVICE_INGEST_CALL_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "server/service/service_environment.h"

namespace evenpack {

// Lives until the call is done.
grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StartIngestCall(
    const ServiceEnvironment& environment, const grpc::ServerContextBase& context);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_INGEST_CALL_H_
