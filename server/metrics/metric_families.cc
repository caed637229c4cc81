#include "server/metrics/metric_families.h"

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

FamilyTable::FamilyTable(std::span<const MetricDefinition> definitions)
    : definitions_(definitions), families_(definitions.size()) {
  for (size_t i = 0; i < families_.size(); ++i) {
    families_[i].name = definitions[i].name;
    families_[i].help = definitions[i].help;
    families_[i].type = PrometheusType(definitions[i].type);
  }
}

prometheus::ClientMetric& FamilyTable::AddSeries(size_t metric, LabelValues labels) {
  prometheus::ClientMetric& series = families_[metric].metric.emplace_back();
  series.label.reserve(labels.size());
  const std::string_view* name = definitions_[metric].labels.names;
  for (const std::string_view value : labels) {
    series.label.push_back({std::string(*name++), std::string(value)});
  }
  return series;
}

void FamilyTable::AddValue(size_t metric, LabelValues labels, double value) {
  prometheus::ClientMetric& series = AddSeries(metric, labels);
  if (definitions_[metric].type == MetricType::kCounter) {
    series.counter.value = value;
  } else {
    series.gauge.value = value;
  }
}

void FamilyTable::AddHistogram(size_t metric, LabelValues labels,
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

std::vector<prometheus::MetricFamily> FamilyTable::Take() && {
  std::erase_if(families_, [](const prometheus::MetricFamily& family) {
    return family.metric.empty();
  });
  return std::move(families_);
}

}  // namespace evenpack
