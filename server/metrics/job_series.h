// The series of one job, within a budget.
#ifndef EVENPACK_SERVER_METRICS_JOB_SERIES_H_
#define EVENPACK_SERVER_METRICS_JOB_SERIES_H_

#include <cstddef>

#include "server/metrics/job_figures.h"
#include "server/metrics/metric_families.h"

namespace evenpack {

// Streams and queues beyond the first so many are summed as one that is called "other".
// The age of several queues is that of the oldest.
inline constexpr size_t kMaxStreamsShown = 32;
inline constexpr size_t kMaxQueuesShown = 32;
// No job has more, whatever its streams, queues and subscribers. A bucket of a
// histogram is a series.
inline constexpr size_t kMaxSeriesPerJob = 610;

void AddJobSeries(const JobFigures& job, MetricFamilies& families);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_METRICS_JOB_SERIES_H_
