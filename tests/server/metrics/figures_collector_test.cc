#include "server/metrics/figures_collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/metric_family.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "server/metrics/job_series.h"
#include "server/metrics/metric_names.h"
#include "server/metrics/process_metric_names.h"
#include "tests/server/metrics/fake_figures.h"
#include "tests/testing/file_bytes.h"
#include "tests/testing/source_file.h"

namespace evenpack {
namespace {

using testing::FakeFigures;
using testing::FilledJob;
using testing::FilledOptions;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(FiguresCollectorTest, TheTextOfFilledFiguresIsAsWrittenDown) {
  FakeFigures figures;
  figures.jobs = {FilledJob("7b \"long\"")};
  figures.server = testing::FilledServer();
  const std::string expected = testing::FileBytes(
      testing::SourceFile("tests/server/metrics/filled_figures.txt"));
  EXPECT_EQ(FiguresCollector(figures, FilledOptions()).Text(), expected);
}

TEST(FiguresCollectorTest, EveryMetricHasASeries) {
  FakeFigures figures;
  figures.jobs = {FilledJob("j")};
  figures.server = testing::FilledServer();
  const std::vector<prometheus::MetricFamily> families =
      FiguresCollector(figures, FilledOptions()).Collect();
  ASSERT_EQ(families.size(), kMetrics.size() + kProcessMetrics.size());
  for (size_t i = 0; i < kMetrics.size(); ++i) {
    EXPECT_EQ(families[i].name, kMetrics[i].name);
  }
  for (size_t i = 0; i < kProcessMetrics.size(); ++i) {
    EXPECT_EQ(families[kMetrics.size() + i].name, kProcessMetrics[i].name);
  }
}

TEST(FiguresCollectorTest, AServerWithoutJobsHasNoSeriesOfJobs) {
  const std::string text = FiguresCollector(FakeFigures(), FilledOptions()).Text();
  EXPECT_THAT(text, HasSubstr("\nevenpack_jobs 0\n"));
  EXPECT_THAT(text, HasSubstr("\nevenpack_jobs_left_out 0\n"));
  EXPECT_THAT(text, Not(HasSubstr("{job=")));
}

TEST(FiguresCollectorTest, TheNewestOfTooManyJobsAreLeftOutAndCounted) {
  FakeFigures figures;
  for (const char* name : {"a", "b", "c"}) figures.jobs.push_back(FilledJob(name));
  FiguresCollectorOptions options = FilledOptions();
  options.max_jobs = 2;
  const std::string text = FiguresCollector(figures, options).Text();
  EXPECT_THAT(text, HasSubstr("\nevenpack_jobs 3\n"));
  EXPECT_THAT(text, HasSubstr("\nevenpack_jobs_left_out 1\n"));
  EXPECT_THAT(text, HasSubstr("\nevenpack_job_epoch{job=\"b\"} 901\n"));
  EXPECT_THAT(text, Not(HasSubstr("{job=\"c\"")));
}

TEST(FiguresCollectorTest, FiveThousandJobsStayWithinTheBudget) {
  FakeFigures figures;
  JobFigures job = FilledJob("");
  for (int i = 0; i < 5000; ++i) {
    job.job = absl::StrCat("job-", i);
    figures.jobs.push_back(job);
  }
  const FiguresCollectorOptions options = FilledOptions();
  const std::string text = FiguresCollector(figures, options).Text();
  EXPECT_THAT(text, HasSubstr("\nevenpack_jobs_left_out 4800\n"));
  const auto lines = std::count(text.begin(), text.end(), '\n');
  EXPECT_LE(static_cast<size_t>(lines),
            options.max_jobs * kMaxSeriesPerJob + 3 * kMetrics.size());
}

TEST(FiguresCollectorTest, LooksAnewEachTime) {
  FakeFigures figures;
  const FiguresCollector collector(figures, FilledOptions());
  EXPECT_THAT(collector.Text(), HasSubstr("\nevenpack_ingest_streams 0\n"));
  figures.server.ingest_streams = 5;
  EXPECT_THAT(collector.Text(), HasSubstr("\nevenpack_ingest_streams 5\n"));
}

TEST(FiguresCollectorTest, ReadsTheProcessWhereNotToldOtherwise) {
  const FakeFigures figures;
  const std::string text = FiguresCollector(figures, {}).Text();
  EXPECT_THAT(text, HasSubstr("\nprocess_resident_memory_bytes "));
}

}  // namespace
}  // namespace evenpack
