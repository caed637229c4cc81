// What a path of the HTTP port asks of the service (docs/live-page.md).
#ifndef EVENPACK_SERVER_SERVICE_JSON_REQUEST_H_
#define EVENPACK_SERVER_SERVICE_JSON_REQUEST_H_

#include <string_view>
#include <variant>

#include "absl/status/statusor.h"
#include "evenpack/v1/packing_service.pb.h"
#include "server/web/http_pages.h"

namespace evenpack {

inline constexpr std::string_view kJsonFolder = "/api/v1/jobs";

using JsonRequest = std::variant<v1::ListJobsRequest, v1::ObserveJobRequest,
                                 v1::ObserveMicroBatchRequest>;

//   /api/v1/jobs                                   page_size, page_token
//   /api/v1/jobs/NAME                              steps, from_step
//   /api/v1/jobs/NAME/steps/K/micro-batches/I
// NOT_FOUND: another path. INVALID_ARGUMENT naming what is no number in its range,
// comes twice, is no parameter of the path, or no UTF-8.
absl::StatusOr<JsonRequest> ReadJsonRequest(const HttpRequest& request);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_JSON_REQUEST_H_
