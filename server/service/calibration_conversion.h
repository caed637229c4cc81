// What a job's spec says of the calibration of its costs (evenpack.v1.Cost), for those
// who have the engine's spec.
#ifndef EVENPACK_SERVER_SERVICE_CALIBRATION_CONVERSION_H_
#define EVENPACK_SERVER_SERVICE_CALIBRATION_CONVERSION_H_

#include <string>

#include "server/core/cost/cost_scales.h"
#include "server/core/engine/job_spec.h"

namespace evenpack {

// The scales that its costs were resolved with; 1 where its description has none that
// are accepted, as one of another program's.
CostScales CostScalesOf(const JobSpec& spec);

// Whether the server sets them by itself.
bool IsSelfCalibrating(const JobSpec& spec);

// JobSpec::description as it would be with these scales.
std::string DescribeWith(const JobSpec& spec, const CostScales& scales);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_CALIBRATION_CONVERSION_H_
