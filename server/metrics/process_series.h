// The series of a program's process.
#ifndef EVENPACK_SERVER_METRICS_PROCESS_SERIES_H_
#define EVENPACK_SERVER_METRICS_PROCESS_SERIES_H_

#include "server/metrics/metric_families.h"
#include "server/metrics/process_figures.h"
#include "server/metrics/process_metric_names.h"

namespace evenpack {

void AddProcessSeries(const ProcessFigures& process,
                      FamiliesOf<ProcessMetric>& families);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_METRICS_PROCESS_SERIES_H_
