#include "server/metrics/figures_collector.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "server/metrics/job_series.h"
#include "server/metrics/metric_families.h"
#include "server/metrics/metric_names.h"
#include "server/metrics/process_metric_names.h"
#include "server/metrics/process_series.h"
#include "server/metrics/server_series.h"

namespace evenpack {

FiguresCollector::FiguresCollector(const FiguresSource& source,
                                   FiguresCollectorOptions options)
    : source_(source), options_(std::move(options)) {}

std::vector<prometheus::MetricFamily> FiguresCollector::Collect() const {
  MetricFamilies families;
  families.AddCount(Metric::kBuildInfo, {options_.version}, 1);
  const std::vector<JobFigures> jobs = source_.Jobs();
  const size_t shown = std::min(jobs.size(), options_.max_jobs);
  families.AddCount(Metric::kJobs, {}, jobs.size());
  families.AddCount(Metric::kJobsLeftOut, {}, jobs.size() - shown);
  families.AddCount(
      Metric::kBrokenJobs, {},
      static_cast<uint64_t>(std::ranges::count_if(jobs, &JobFigures::broken)));
  AddServerSeries(source_.Server(), families);
  for (size_t i = 0; i < shown; ++i) AddJobSeries(jobs[i], families);
  std::vector<prometheus::MetricFamily> taken = std::move(families).Take();
  FamiliesOf<ProcessMetric> process;
  AddProcessSeries(options_.process(), process);
  std::ranges::move(std::move(process).Take(), std::back_inserter(taken));
  return taken;
}

std::string FiguresCollector::Text() const {
  return prometheus::TextSerializer().Serialize(Collect());
}

}  // namespace evenpack
