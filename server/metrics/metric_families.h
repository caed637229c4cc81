// Builds prometheus-cpp's metric families by the definitions of metric_names.h.
#ifndef EVENPACK_SERVER_METRICS_METRIC_FAMILIES_H_
#define EVENPACK_SERVER_METRICS_METRIC_FAMILIES_H_

#include <prometheus/metric_family.h>

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "server/metrics/histogram.h"
#include "server/metrics/metric_names.h"

namespace evenpack {

// Not thread-safe.
class MetricFamilies {
 public:
  using LabelValues = std::initializer_list<std::string_view>;

  MetricFamilies();

  // A series each, with a value for each label of the definition, in its order. No two
  // series of a metric may have the same.
  void AddValue(Metric metric, LabelValues labels, double value);
  void AddCount(Metric metric, LabelValues labels, uint64_t count);
  void AddHistogram(Metric metric, LabelValues labels, const Histogram& histogram);

  // Those that have a series, in the order of metric_names.h.
  std::vector<prometheus::MetricFamily> Take() &&;

 private:
  prometheus::ClientMetric& AddSeries(Metric metric, LabelValues labels);

  std::vector<prometheus::MetricFamily> families_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_METRICS_METRIC_FAMILIES_H_
