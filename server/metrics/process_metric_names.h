// The metrics that every Prometheus client library has of the process itself, by the
// names that these use.
#ifndef EVENPACK_SERVER_METRICS_PROCESS_METRIC_NAMES_H_
#define EVENPACK_SERVER_METRICS_PROCESS_METRIC_NAMES_H_

#include <cstdint>
#include <span>

#include "server/metrics/metric_definition.h"

namespace evenpack {

enum class ProcessMetric : uint8_t {
  kStartTime,
  kCpu,
  kResidentMemory,
  kVirtualMemory,
  kOpenFds,
  kMaxFds,
  kEnd,  // not one: how many there are
};

namespace process_metric_names_internal {

using metric_table::Counter;
using metric_table::Gauge;

inline constexpr MetricDefinition kTable[] = {
    Gauge(ProcessMetric::kStartTime, "process_start_time_seconds", {},
          "When the process started, in seconds since 1970-01-01 UTC."),
    Counter(ProcessMetric::kCpu, "process_cpu_seconds_total", {},
            "User and system processor time spent."),
    Gauge(ProcessMetric::kResidentMemory, "process_resident_memory_bytes", {},
          "Resident memory."),
    Gauge(ProcessMetric::kVirtualMemory, "process_virtual_memory_bytes", {},
          "Virtual memory."),
    Gauge(ProcessMetric::kOpenFds, "process_open_fds", {},
          "File descriptors that are open."),
    Gauge(ProcessMetric::kMaxFds, "process_max_fds", {},
          "File descriptors that may be open."),
};
static_assert(metric_table::IsComplete<ProcessMetric>(kTable),
              "a row for each ProcessMetric, in order");

inline constexpr MetricGroup kGroups[] = {
    metric_table::Group("Process", ProcessMetric::kStartTime)};

}  // namespace process_metric_names_internal

// In the order of the enumeration, which is that of /metrics.
inline constexpr std::span<const MetricDefinition> kProcessMetrics(
    process_metric_names_internal::kTable);
inline constexpr std::span<const MetricGroup> kProcessMetricGroups(
    process_metric_names_internal::kGroups);

constexpr std::span<const MetricDefinition> DefinitionsOf(ProcessMetric /*any*/) {
  return kProcessMetrics;
}

}  // namespace evenpack

#endif  // EVENPACK_SERVER_METRICS_PROCESS_METRIC_NAMES_H_
