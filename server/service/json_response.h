// Messages of the API, and errors, as JSON over HTTP.
#ifndef EVENPACK_SERVER_SERVICE_JSON_RESPONSE_H_
#define EVENPACK_SERVER_SERVICE_JSON_RESPONSE_H_

#include "absl/status/status.h"
#include "server/web/http_pages.h"

namespace google::protobuf {
class Message;
}

namespace evenpack {

// 200, as protobuf writes JSON: fields that are not set and have no presence are there
// with their default.
HttpResponse JsonOf(const google::protobuf::Message& message);

// google.rpc.Status with the details that a call over gRPC ends with. 400: what was
// asked is wrong; 404: there is no such thing, or a step was let go or is not decided
// yet; 421: another server leads the job; 503: try again; and others as google.rpc.Code
// maps them.
HttpResponse JsonOf(const absl::Status& status);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_JSON_RESPONSE_H_
