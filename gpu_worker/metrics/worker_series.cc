#include "gpu_worker/metrics/worker_series.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "gpu_worker/metrics/worker_metric_names.h"
#include "server/metrics/metric_families.h"
#include "server/metrics/process_series.h"

namespace evenpack::worker {
namespace {

using Families = FamiliesOf<WorkerMetric>;

double SecondsOf(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

void AddWork(const ExecutedWork& work, Families& families) {
  families.AddCount(WorkerMetric::kSteps, {}, work.steps);
  families.AddCount(WorkerMetric::kMicroBatches, {}, work.micro_batches);
  families.AddValue(WorkerMetric::kForwardSeconds, {}, SecondsOf(work.forward_ns));
  families.AddValue(WorkerMetric::kBackwardSeconds, {}, SecondsOf(work.backward_ns));
  families.AddValue(WorkerMetric::kWaitedSeconds, {}, SecondsOf(work.waited_ns));
}

void AddRank(const RankFigures& rank, Families& families) {
  AddWork(rank.work, families);
  families.AddCount(WorkerMetric::kPreparedSteps, {}, rank.prepared_steps);
  families.AddCount(WorkerMetric::kGroupEpoch, {}, rank.group.epoch);
  families.AddCount(WorkerMetric::kGroupConnected, {}, rank.group.connected ? 1 : 0);
  families.AddCount(WorkerMetric::kGroupLosses, {}, rank.group.losses);
}

}  // namespace

std::string WorkerMetricsText(const WorkerFigures& figures) {
  Families families;
  families.AddCount(WorkerMetric::kBuildInfo, {figures.version}, 1);
  if (figures.sidecar.session.has_value()) {
    const SidecarStatus::Session& session = *figures.sidecar.session;
    families.AddCount(
        WorkerMetric::kSessionInfo,
        {session.job, std::to_string(session.dp_rank), std::to_string(session.cp_rank)},
        1);
  }
  AddRank(figures.sidecar.figures, families);
  families.AddCount(WorkerMetric::kMemoryUsed, {}, figures.sidecar.arena_bytes);
  families.AddCount(WorkerMetric::kMemoryLimit, {}, figures.memory_bytes);
  std::vector<prometheus::MetricFamily> taken = std::move(families).Take();
  FamiliesOf<ProcessMetric> process;
  AddProcessSeries(figures.process, process);
  std::ranges::move(std::move(process).Take(), std::back_inserter(taken));
  return prometheus::TextSerializer().Serialize(taken);
}

}  // namespace evenpack::worker
