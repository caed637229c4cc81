#include "server/metrics/metric_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/core/document/step.h"
#include "server/metrics/job_figures.h"

namespace evenpack {
namespace {

// A row of the table of docs/metrics.md.
std::string RowOf(const MetricDefinition& metric) {
  std::string labels;
  for (const std::string_view label : metric.labels.names) {
    if (label.empty()) continue;
    absl::StrAppend(&labels, labels.empty() ? "" : ", ", std::string(label));
  }
  return absl::StrCat("| `", std::string(metric.name), "` | ",
                      std::string(MetricTypeName(metric.type)), " | ", labels, " | ",
                      std::string(metric.help), " |");
}

TEST(MetricNamesTest, TheTablesOfTheDocumentationHaveTheSameMetricsInTheSameOrder) {
  std::ifstream file(EVENPACK_SOURCE_DIR "/docs/metrics.md");
  std::vector<std::string> documented;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| `")) documented.push_back(line);
  }
  std::vector<std::string> expected;
  for (const MetricDefinition& metric : kMetrics) expected.push_back(RowOf(metric));
  EXPECT_EQ(documented, expected);
}

TEST(MetricNamesTest, NoTwoMetricsShareAName) {
  std::set<std::string_view> names;
  for (const MetricDefinition& metric : kMetrics) {
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
  }
}

TEST(MetricNamesTest, NamesFollowTheRulesThatPromtoolDoesNotKnow) {
  for (const MetricDefinition& metric : kMetrics) {
    EXPECT_TRUE(metric.name.starts_with("evenpack_") ||
                metric.name.starts_with("process_"))
        << metric.name;
    EXPECT_EQ(metric.name.starts_with("evenpack_job_"), metric.labels.names[0] == "job")
        << metric.name;
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
}

}  // namespace
}  // namespace evenpack
