// The series of the server as a whole.
#ifndef EVENPACK_SERVER_METRICS_SERVER_SERIES_H_
#define EVENPACK_SERVER_METRICS_SERVER_SERIES_H_

#include "server/metrics/job_figures.h"
#include "server/metrics/metric_families.h"

namespace evenpack {

void AddServerSeries(const ServerFigures& server, MetricFamilies& families);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_METRICS_SERVER_SERIES_H_
