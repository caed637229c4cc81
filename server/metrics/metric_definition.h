// What a program says of each of its metrics. The tables themselves, one a program and
// one that all share, are metric_names.h, process_metric_names.h and
// gpu_worker/metrics/worker_metric_names.h; docs/metrics.md is made from them.
//
// Names follow Prometheus' practice: base units, _total for counters; a histogram
// `x` is read as x_bucket, x_sum and x_count.
//
// A table is an array of definitions over an enumeration whose last value, kEnd, counts
// them, and which DefinitionsOf() finds by the enumeration's type.
#ifndef EVENPACK_SERVER_METRICS_METRIC_DEFINITION_H_
#define EVENPACK_SERVER_METRICS_METRIC_DEFINITION_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace evenpack {

enum class MetricType : uint8_t { kCounter, kGauge, kHistogram };

constexpr std::string_view MetricTypeName(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return "counter";
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kHistogram:
      return "histogram";
  }
  return "untyped";
}

struct LabelNames {
  std::string_view names[3];  // those not used are empty and last
};

struct MetricDefinition {
  // Its value in the table's enumeration.
  size_t position = 0;
  std::string_view name;
  MetricType type = MetricType::kGauge;
  LabelNames labels;
  std::string_view help;
};

// Definitions that the documentation shows as one table: from this one until the next
// group's.
struct MetricGroup {
  std::string_view title;
  size_t first = 0;
};

// Rows of a table, and whether it has one for each value of its enumeration, in order.
namespace metric_table {

template <typename Metric>
constexpr MetricDefinition Counter(Metric metric, std::string_view name,
                                   LabelNames labels, std::string_view help) {
  return {static_cast<size_t>(metric), name, MetricType::kCounter, labels, help};
}
template <typename Metric>
constexpr MetricDefinition Gauge(Metric metric, std::string_view name,
                                 LabelNames labels, std::string_view help) {
  return {static_cast<size_t>(metric), name, MetricType::kGauge, labels, help};
}
template <typename Metric>
constexpr MetricDefinition Histogram(Metric metric, std::string_view name,
                                     LabelNames labels, std::string_view help) {
  return {static_cast<size_t>(metric), name, MetricType::kHistogram, labels, help};
}
template <typename Metric>
constexpr MetricGroup Group(std::string_view title, Metric first) {
  return {title, static_cast<size_t>(first)};
}

template <typename Metric>
constexpr bool IsComplete(std::span<const MetricDefinition> table) {
  for (size_t i = 0; i < table.size(); ++i) {
    if (table[i].position != i) return false;
  }
  return table.size() == static_cast<size_t>(Metric::kEnd);
}

}  // namespace metric_table

}  // namespace evenpack

#endif  // EVENPACK_SERVER_METRICS_METRIC_DEFINITION_H_
