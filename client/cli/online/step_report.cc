#include "client/cli/online/step_report.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/json_text.h"
#include "client/cli/sharding_name.h"
#include "client/cli/text_table.h"
#include "evenpack/v1/job.pb.h"
#include "server/core/document/step.h"

namespace evenpack {
namespace {

using client::MicroBatchView;
using client::RankStep;

constexpr size_t kBarWidth = 30;
// A number that the spec has no stream for stands for itself.
std::string StreamName(uint32_t stream, const v1::JobSpec& spec) {
  if (stream >= static_cast<uint32_t>(spec.streams_size())) {
    return absl::StrCat("#", stream);
  }
  return spec.streams(static_cast<int>(stream)).name();
}

Json DocumentsJson(const MicroBatchView& view, const v1::JobSpec& spec) {
  Json documents = Json::array();
  for (const Document& document : view.documents()) {
    documents.push_back({{"stream", StreamName(document.stream, spec)},
                         {"sequence", document.sequence},
                         {"id", document.id},
                         {"offset", document.offset},
                         {"length", document.length}});
  }
  return documents;
}

Json SlicesJson(const RankSlices& slices) {
  Json list = Json::array();
  for (size_t i = 0; i < slices.size(); ++i) {
    list.push_back({{"document", slices.document[i]},
                    {"begin", slices.begin[i]},
                    {"end", slices.end[i]}});
  }
  return list;
}

Json MicroBatchJson(const MicroBatchView& view, const v1::JobSpec& spec) {
  Json json;
  json["index"] = view.index();
  json["tokens"] = view.tokens();
  json["padding"] = view.padding();
  json["workload_ns"] = view.workload_ns();
  json["documents"] = DocumentsJson(view, spec);
  json["sharding"] = ShardingName(view.sharding());
  if (view.cp_rank().has_value()) json["slices"] = SlicesJson(view.own_slices());
  json["digest"] = ToHex(view.digest());
  return json;
}

// Max over mean of the whole step's workloads.
double Imbalance(const client::StepTotals& totals) {
  if (totals.total_workload_ns <= 0) return 1;
  return static_cast<double>(totals.max_workload_ns) * totals.micro_batches /
         static_cast<double>(totals.total_workload_ns);
}

std::string Heading(const RankStep& step) {
  const client::StepTotals& totals = step.totals();
  return absl::StrFormat(
      "step %d (%s): DP rank %d has %d of %d micro-batches, %s tokens in all, "
      "imbalance "
      "%.4f, digest %s\n",
      step.index(), StepKindName(step.kind()), step.dp_rank(),
      step.micro_batches().size(), totals.micro_batches, Grouped(totals.tokens),
      Imbalance(totals), ToHex(step.digest()));
}

std::vector<TextTable::Column> Columns(bool with_slices) {
  std::vector<TextTable::Column> columns = {{"micro-batch"},
                                            {"documents"},
                                            {"longest"},
                                            {"tokens"},
                                            {"padding"},
                                            {"workload ms"},
                                            {"of the step's", kLeft},
                                            {"sharding", kLeft}};
  if (with_slices) {
    columns.insert(columns.end(), {{"CP rank"}, {"slices"}, {"its tokens"}});
  }
  return columns;
}

std::vector<std::string> Cells(const MicroBatchView& view, int64_t most_ns) {
  const auto workload = static_cast<double>(view.workload_ns());
  const auto most = static_cast<double>(std::max<int64_t>(most_ns, 1));
  std::vector<std::string> cells = {absl::StrCat(view.index()),
                                    Grouped(view.documents().size()),
                                    Grouped(static_cast<uint64_t>(view.max_seqlen())),
                                    Grouped(view.tokens()),
                                    Grouped(view.padding()),
                                    absl::StrFormat("%.3f", workload / 1e6),
                                    Bar(workload, most, kBarWidth),
                                    std::string(ShardingName(view.sharding()))};
  if (view.cp_rank().has_value()) {
    const RankSlices& slices = view.own_slices();
    cells.insert(cells.end(), {absl::StrCat(*view.cp_rank()), Grouped(slices.size()),
                               Grouped(slices.tokens + slices.padding)});
  }
  return cells;
}

}  // namespace

std::string StepJson(const RankStep& step) {
  Json json;
  json["step"] = step.index();
  json["dp_rank"] = step.dp_rank();
  json["micro_batches"] = Json::array();
  for (const MicroBatchView& view : step.micro_batches()) {
    json["micro_batches"].push_back(MicroBatchJson(view, step.spec()));
  }
  json["digest"] = ToHex(step.digest());
  return JsonLine(json);
}

std::string StepText(const RankStep& step) {
  const auto views = step.micro_batches();
  const bool with_slices = !views.empty() && views.front().cp_rank().has_value();
  TextTable table(Columns(with_slices));
  for (const MicroBatchView& view : views) {
    table.AddRow(Cells(view, step.totals().max_workload_ns));
  }
  return absl::StrCat(Heading(step), table.ToString(), "\n");
}

}  // namespace evenpack
