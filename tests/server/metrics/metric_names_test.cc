#include "server/metrics/metric_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "gpu_worker/metrics/worker_metric_names.h"
#include "server/core/document/step.h"
#include "server/metrics/job_figures.h"
#include "server/metrics/process_metric_names.h"

namespace evenpack {
namespace {

// Those of all programs.
std::vector<MetricDefinition> AllMetrics() {
  std::vector<MetricDefinition> all;
  for (const std::span<const MetricDefinition> table :
       {kMetrics, kProcessMetrics, worker::kWorkerMetrics}) {
    all.insert(all.end(), table.begin(), table.end());
  }
  return all;
}

TEST(MetricNamesTest, NoTwoMetricsShareAName) {
  std::set<std::string_view> names;
  for (const MetricDefinition& metric : AllMetrics()) {
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
  }
}

TEST(MetricNamesTest, NamesFollowTheRulesThatPromtoolDoesNotKnow) {
  for (const MetricDefinition& metric : kMetrics) {
    EXPECT_TRUE(metric.name.starts_with("evenpack_")) << metric.name;
    EXPECT_FALSE(metric.name.starts_with("evenpack_worker_")) << metric.name;
    EXPECT_EQ(metric.name.starts_with("evenpack_job_"), metric.labels.names[0] == "job")
        << metric.name;
  }
  for (const MetricDefinition& metric : kProcessMetrics) {
    EXPECT_TRUE(metric.name.starts_with("process_")) << metric.name;
  }
  for (const MetricDefinition& metric : worker::kWorkerMetrics) {
    EXPECT_TRUE(metric.name.starts_with("evenpack_worker_")) << metric.name;
  }
  for (const MetricDefinition& metric : AllMetrics()) {
    EXPECT_EQ(metric.name.ends_with("_total"), metric.type == MetricType::kCounter)
        << metric.name;
    EXPECT_TRUE(metric.help.ends_with(".")) << metric.name;
  }
}

TEST(MetricNamesTest, StepKindsAreNamedAsTheEngineNamesThem) {
  ASSERT_EQ(std::size(kKindNames), JobFigures().steps.size());
  for (size_t i = 0; i < std::size(kKindNames); ++i) {
    const absl::string_view name = StepKindName(static_cast<StepKind>(i));
    EXPECT_EQ(kKindNames[i], std::string_view(name.data(), name.size()));
  }
  EXPECT_EQ(std::size(kShardingNames), JobFigures().shardings.size());
  EXPECT_EQ(std::size(kCauseNames), JobFigures().excess.seconds.size());
  EXPECT_EQ(std::size(kPredictedCauseNames), JobFigures().prediction.seconds.size());
}

}  // namespace
}  // namespace evenpack
