#include "server/metrics/metric_families.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <string>
#include <utility>

namespace evenpack {
namespace {

std::string TextOf(MetricFamilies families) {
  return prometheus::TextSerializer().Serialize(std::move(families).Take());
}

TEST(MetricFamiliesTest, WritesTypeHelpAndLabelsByTheirDefinition) {
  MetricFamilies families;
  families.AddCount(Metric::kSteps, {"a", "drain"}, 3);
  families.AddCount(Metric::kSteps, {"b", "backlog"}, 0);
  EXPECT_EQ(TextOf(std::move(families)),
            "# HELP evenpack_job_steps_total Steps committed, by what they were formed "
            "from.\n"
            "# TYPE evenpack_job_steps_total counter\n"
            "evenpack_job_steps_total{job=\"a\",kind=\"drain\"} 3\n"
            "evenpack_job_steps_total{job=\"b\",kind=\"backlog\"} 0\n");
}

TEST(MetricFamiliesTest, KeepsTheOrderOfTheDefinitionsNotOfTheCalls) {
  MetricFamilies families;
  families.AddValue(Metric::kStoreSize, {}, 2);
  families.AddCount(Metric::kJobs, {}, 1);
  EXPECT_EQ(TextOf(std::move(families)),
            "# HELP evenpack_jobs Jobs that the server leads.\n"
            "# TYPE evenpack_jobs gauge\n"
            "evenpack_jobs 1\n"
            "# HELP evenpack_store_size_bytes Size of the store's file and its log; 0 "
            "in memory.\n"
            "# TYPE evenpack_store_size_bytes gauge\n"
            "evenpack_store_size_bytes 2\n");
}

TEST(MetricFamiliesTest, AHistogramsBucketsAreCumulative) {
  static constexpr double kDecideBounds[] = {0.005, 0.1};
  Histogram histogram(kDecideBounds);
  histogram.Observe(0.004);
  histogram.Observe(0.0625, 2);
  histogram.Observe(4, 3);
  MetricFamilies families;
  families.AddHistogram(Metric::kDecideSeconds, {"a"}, histogram);
  EXPECT_EQ(TextOf(std::move(families)),
            "# HELP evenpack_job_decide_seconds Time to decide a step.\n"
            "# TYPE evenpack_job_decide_seconds histogram\n"
            "evenpack_job_decide_seconds_count{job=\"a\"} 6\n"
            "evenpack_job_decide_seconds_sum{job=\"a\"} 12.129\n"
            "evenpack_job_decide_seconds_bucket{job=\"a\",le=\"0.005\"} 1\n"
            "evenpack_job_decide_seconds_bucket{job=\"a\",le=\"0.1\"} 3\n"
            "evenpack_job_decide_seconds_bucket{job=\"a\",le=\"+Inf\"} 6\n");
}

TEST(MetricFamiliesTest, EscapesWhatAUserPutIntoAName) {
  MetricFamilies families;
  families.AddCount(Metric::kEpoch, {"say \"hi\"\\\nto\t{Zoë}"}, 1);
  EXPECT_EQ(TextOf(std::move(families)),
            "# HELP evenpack_job_epoch Shape epoch: how often the job was "
            "reconfigured.\n"
            "# TYPE evenpack_job_epoch gauge\n"
            "evenpack_job_epoch{job=\"say \\\"hi\\\"\\\\\\nto\t{Zoë}\"} 1\n");
}

TEST(MetricFamiliesTest, AMetricWithoutSeriesIsNotWritten) {
  EXPECT_TRUE(MetricFamilies().Take().empty());
}

}  // namespace
}  // namespace evenpack
