#include "tests/server/metrics/metric_doc.h"

#include <map>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gpu_worker/metrics/worker_metric_names.h"
#include "server/metrics/metric_definition.h"
#include "server/metrics/metric_names.h"
#include "server/metrics/process_metric_names.h"

namespace evenpack::testing {
namespace {

constexpr absl::string_view kBegin = "<!-- metrics: ";
constexpr absl::string_view kBeginEnd = " -->";
constexpr absl::string_view kEnd = "<!-- end -->";

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

std::string RowOf(const MetricDefinition& metric) {
  std::string labels;
  for (const std::string_view label : metric.labels.names) {
    if (label.empty()) continue;
    absl::StrAppend(&labels, labels.empty() ? "" : ", ", View(label));
  }
  return absl::StrCat("| `", View(metric.name), "` | ",
                      View(MetricTypeName(metric.type)), " | ", labels, " | ",
                      View(metric.help), " |\n");
}

// By title.
using Tables = std::map<std::string, std::string>;

void AddTables(std::span<const MetricGroup> groups,
               std::span<const MetricDefinition> metrics, Tables& tables) {
  for (size_t i = 0; i < groups.size(); ++i) {
    std::string& table = tables[std::string(groups[i].title)];
    table = "| name | type | labels | meaning |\n|---|---|---|---|\n";
    const size_t end = i + 1 < groups.size() ? groups[i + 1].first : metrics.size();
    for (size_t at = groups[i].first; at < end; ++at) table += RowOf(metrics[at]);
  }
}

Tables AllTables() {
  Tables tables;
  AddTables(kMetricGroups, kMetrics, tables);
  AddTables(kProcessMetricGroups, kProcessMetrics, tables);
  AddTables(worker::kWorkerMetricGroups, worker::kWorkerMetrics, tables);
  return tables;
}

}  // namespace

MetricDoc WithTables(std::string_view document) {
  MetricDoc doc;
  Tables tables = AllTables();
  bool within = false;
  for (absl::string_view line : absl::StrSplit(View(document), '\n')) {
    if (line == kEnd) within = false;
    if (within) continue;
    absl::StrAppend(&doc.text, line, "\n");
    if (!absl::ConsumePrefix(&line, kBegin)) continue;
    const std::string title(absl::StripSuffix(line, kBeginEnd));
    const auto table = tables.find(title);
    within = true;
    if (table == tables.end()) {
      doc.misplaced.push_back(title);
      continue;
    }
    doc.text += table->second;
    tables.erase(table);
  }
  // What follows the last line's end is no line.
  doc.text.pop_back();
  for (const auto& [title, table] : tables) doc.misplaced.push_back(title);
  if (within) doc.misplaced.emplace_back("end");
  return doc;
}

}  // namespace evenpack::testing
