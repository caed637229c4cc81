#include "server/metrics/process_series.h"

#include <optional>

namespace evenpack {

void AddProcessSeries(const ProcessFigures& process,
                      FamiliesOf<ProcessMetric>& families) {
  const auto add = [&](ProcessMetric metric, std::optional<double> value) {
    if (value.has_value()) families.AddValue(metric, {}, *value);
  };
  add(ProcessMetric::kStartTime, process.start_time_seconds);
  add(ProcessMetric::kCpu, process.cpu_seconds);
  add(ProcessMetric::kResidentMemory, process.resident_bytes);
  add(ProcessMetric::kVirtualMemory, process.virtual_bytes);
  add(ProcessMetric::kOpenFds, process.open_fds);
  add(ProcessMetric::kMaxFds, process.max_fds);
}

}  // namespace evenpack
