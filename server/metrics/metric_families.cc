#include "server/metrics/metric_families.h"

#include <cstddef>
#include <limits>
#include <string>
#include <utility>

namespace evenpack {
namespace {

prometheus::MetricType PrometheusType(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return prometheus::MetricType::Counter;
    case MetricType::kGauge:
      return prometheus::MetricType::Gauge;
    case MetricType::kHistogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

}  // namespace

MetricFamilies::MetricFamilies() : families_(kMetrics.size()) {
  for (size_t i = 0; i < families_.size(); ++i) {
    families_[i].name = kMetrics[i].name;
    families_[i].help = kMetrics[i].help;
    families_[i].type = PrometheusType(kMetrics[i].type);
  }
}

prometheus::ClientMetric& MetricFamilies::AddSeries(Metric metric, LabelValues labels) {
  prometheus::ClientMetric& series =
      families_[static_cast<size_t>(metric)].metric.emplace_back();
  series.label.reserve(labels.size());
  const std::string_view* name = DefinitionOf(metric).labels.names;
  for (const std::string_view value : labels) {
    series.label.push_back({std::string(*name++), std::string(value)});
  }
  return series;
}

void MetricFamilies::AddValue(Metric metric, LabelValues labels, double value) {
  prometheus::ClientMetric& series = AddSeries(metric, labels);
  if (DefinitionOf(metric).type == MetricType::kCounter) {
    series.counter.value = value;
  } else {
    series.gauge.value = value;
  }
}

void MetricFamilies::AddCount(Metric metric, LabelValues labels, uint64_t count) {
  AddValue(metric, labels, static_cast<double>(count));
}

void MetricFamilies::AddHistogram(Metric metric, LabelValues labels,
                                  const Histogram& histogram) {
  prometheus::ClientMetric::Histogram& series = AddSeries(metric, labels).histogram;
  series.sample_count = histogram.count();
  series.sample_sum = histogram.sum();
  series.bucket.reserve(histogram.bounds().size() + 1);
  uint64_t cumulative = 0;
  for (size_t i = 0; i < histogram.bounds().size(); ++i) {
    cumulative += histogram.count_in(i);
    series.bucket.push_back({cumulative, histogram.bounds()[i]});
  }
  series.bucket.push_back({histogram.count(), std::numeric_limits<double>::infinity()});
}

std::vector<prometheus::MetricFamily> MetricFamilies::Take() && {
  std::erase_if(families_, [](const prometheus::MetricFamily& family) {
    return family.metric.empty();
  });
  return std::move(families_);
}

}  // namespace evenpack
