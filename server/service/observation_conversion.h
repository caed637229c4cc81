// What observers are told, as the API tells it.
#ifndef EVENPACK_SERVER_SERVICE_OBSERVATION_CONVERSION_H_
#define EVENPACK_SERVER_SERVICE_OBSERVATION_CONVERSION_H_

#include <cstdint>

#include "server/control/job_observation.h"
#include "server/sessions/published_step.h"

namespace evenpack::v1 {
class ObserveJobResponse;
class ObserveMicroBatchResponse;
}  // namespace evenpack::v1

namespace evenpack {

void ToProto(const JobObservation& observed, v1::ObserveJobResponse& to);
// micro_batch below the step's number of them.
void ToProto(const PublishedStep& step, uint32_t micro_batch,
             v1::ObserveMicroBatchResponse& to);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_OBSERVATION_CONVERSION_H_
