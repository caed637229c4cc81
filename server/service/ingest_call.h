// One call of Ingest.
#ifndef EVENPACK_SERVER_SERVICE_INGEST_CALL_H_
#define EVENPACK_SERVER_SERVICE_INGEST_CALL_H_

#include "server/service/service_environment.h"
#include "server/service/stream_call.h"

namespace evenpack {

// Lives until the call is done.
StreamReactor* StartIngestCall(const ServiceEnvironment& environment,
                               const grpc::ServerContextBase& context);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_INGEST_CALL_H_
