#include "gpu_worker/metrics/worker_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "gpu_worker/metrics/worker_metric_names.h"
#include "server/metrics/process_metric_names.h"
#include "tests/server/metrics/promtool.h"

namespace evenpack::worker {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// No two figures are alike.
WorkerFigures Filled() {
  WorkerFigures figures;
  figures.version = "1.2.3";
  figures.memory_bytes = 1 << 20;
  SidecarStatus& sidecar = figures.sidecar;
  sidecar.arena_bytes = 1 << 18;
  sidecar.session = {"7b \"long\"", 3, 1, 4, {}};
  sidecar.figures.work = {11, 22, 1'500'000'000, 2'500'000'000, 500'000'000};
  sidecar.figures.prepared_steps = 2;
  sidecar.figures.group = {5, true, 4};
  figures.process.start_time_seconds = 1.5e9;
  figures.process.cpu_seconds = 1;
  figures.process.resident_bytes = 6;
  figures.process.virtual_bytes = 7;
  figures.process.open_fds = 8;
  figures.process.max_fds = 9;
  return figures;
}

TEST(WorkerSeriesTest, SaysWhatTheSidecarCounts) {
  const std::string text = WorkerMetricsText(Filled());
  for (const std::string line :
       {"evenpack_worker_build_info{version=\"1.2.3\"} 1",
        "evenpack_worker_session_info{job=\"7b \\\"long\\\"\",dp_rank=\"3\",cp_rank="
        "\"1\"} 1",
        "evenpack_worker_steps_total 11", "evenpack_worker_micro_batches_total 22",
        "evenpack_worker_forward_seconds_total 1.5",
        "evenpack_worker_backward_seconds_total 2.5",
        "evenpack_worker_waited_seconds_total 0.5", "evenpack_worker_prepared_steps 2",
        "evenpack_worker_group_epoch 5", "evenpack_worker_group_connected 1",
        "evenpack_worker_group_losses_total 4",
        "evenpack_worker_memory_used_bytes 262144",
        "evenpack_worker_memory_limit_bytes 1048576", "process_open_fds 8"}) {
    EXPECT_THAT(text, HasSubstr("\n" + line + "\n"));
  }
}

TEST(WorkerSeriesTest, EveryMetricHasASeries) {
  const std::string text = WorkerMetricsText(Filled());
  for (const auto table : {kWorkerMetrics, kProcessMetrics}) {
    for (const MetricDefinition& metric : table) {
      EXPECT_THAT(text, HasSubstr("# HELP " + std::string(metric.name) + " "));
    }
  }
}

TEST(WorkerSeriesTest, WithoutASessionThereIsNoRank) {
  WorkerFigures figures = Filled();
  figures.sidecar.session.reset();
  EXPECT_THAT(WorkerMetricsText(figures), Not(HasSubstr("session_info")));
}

TEST(WorkerSeriesTest, PromtoolHasNothingToSay) {
  const auto outcome = evenpack::testing::CheckMetrics(WorkerMetricsText(Filled()));
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.output, "");
}

}  // namespace
}  // namespace evenpack::worker
