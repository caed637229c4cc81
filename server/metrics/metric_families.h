// Builds prometheus-cpp's metric families by the definitions of a table
// (metric_definition.h).
//
//   MetricFamilies families;
//   families.AddCount(Metric::kJobs, {}, 3);
//   std::vector<prometheus::MetricFamily> taken = std::move(families).Take();
#ifndef EVENPACK_SERVER_METRICS_METRIC_FAMILIES_H_
#define EVENPACK_SERVER_METRICS_METRIC_FAMILIES_H_

#include <prometheus/metric_family.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "server/metrics/histogram.h"
#include "server/metrics/metric_definition.h"
#include "server/metrics/metric_names.h"

namespace evenpack {

using LabelValues = std::initializer_list<std::string_view>;

// Of any table, whose metrics are known by their positions in it. Not thread-safe.
class FamilyTable {
 public:
  // `definitions` is of static lifetime.
  explicit FamilyTable(std::span<const MetricDefinition> definitions);

  void AddValue(size_t metric, LabelValues labels, double value);
  void AddHistogram(size_t metric, LabelValues labels, const Histogram& histogram);
  std::vector<prometheus::MetricFamily> Take() &&;

 private:
  prometheus::ClientMetric& AddSeries(size_t metric, LabelValues labels);

  const std::span<const MetricDefinition> definitions_;
  std::vector<prometheus::MetricFamily> families_;
};

// Of the table of an enumeration. Not thread-safe.
template <typename Metric>
class FamiliesOf {
 public:
  FamiliesOf() : table_(DefinitionsOf(Metric{})) {}

  // A series each, with a value for each label of the definition, in its order. No two
  // series of a metric may have the same.
  void AddValue(Metric metric, LabelValues labels, double value) {
    table_.AddValue(static_cast<size_t>(metric), labels, value);
  }
  void AddCount(Metric metric, LabelValues labels, uint64_t count) {
    AddValue(metric, labels, static_cast<double>(count));
  }
  void AddHistogram(Metric metric, LabelValues labels, const Histogram& histogram) {
    table_.AddHistogram(static_cast<size_t>(metric), labels, histogram);
  }

  // Those that have a series, in the order of the table.
  std::vector<prometheus::MetricFamily> Take() && { return std::move(table_).Take(); }

 private:
  FamilyTable table_;
};

using MetricFamilies = FamiliesOf<Metric>;

}  // namespace evenpack

#endif  // EVENPACK_SERVER_METRICS_METRIC_FAMILIES_H_
