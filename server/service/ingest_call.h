// One call of Ingest.
#ifndef EVENPACK_SERVER_SERVICE_INGEST_CALL_H_
#define EVENPACK_SERVER_SERVICE_INGEST_CALL_H_

#include <grpcpp/support/server_callback.h>

#include "server/service/service_environment.h"

namespace evenpack::v1 {
class IngestRequest;
class IngestResponse;
}  // namespace evenpack::v1

namespace evenpack {

// Lives until the call is done.
grpc::ServerBidiReactor<v1::IngestRequest, v1::IngestResponse>* StartIngestCall(
    const ServiceEnvironment& environment);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_INGEST_CALL_H_
