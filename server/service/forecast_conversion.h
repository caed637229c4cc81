// What a job's spec says of its model and machines (evenpack.v1.Cost), for the
// prediction of its steps.
#ifndef EVENPACK_SERVER_SERVICE_FORECAST_CONVERSION_H_
#define EVENPACK_SERVER_SERVICE_FORECAST_CONVERSION_H_

#include <optional>

#include "server/control/step_forecast.h"
#include "server/core/engine/job_spec.h"

namespace evenpack {

// Those of an analytic or profiled cost; of a quadratic one with the crossover of the
// 7B model, which is the default, that model on H100. None of others, nor where a
// description is another program's.
std::optional<ForecastTerms> ForecastTermsOfSpec(const JobSpec& spec);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_FORECAST_CONVERSION_H_
