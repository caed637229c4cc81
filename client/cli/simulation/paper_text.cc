#include "client/cli/simulation/paper_text.h"

#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/json_text.h"
#include "client/cli/sharding_name.h"
#include "client/cli/text_table.h"

namespace evenpack {
namespace {

template <typename Value>
double Mean(std::span<const PaperRow> rows, Value value) {
  double sum = 0;
  for (const PaperRow& row : rows) sum += value(row);
  return sum / static_cast<double>(rows.size());
}
double MeanFixed(std::span<const PaperRow> rows) {
  return Mean(rows, [](const PaperRow& row) { return row.comparison.FixedSpeedup(); });
}
double MeanWlb(std::span<const PaperRow> rows) {
  return Mean(rows, [](const PaperRow& row) { return row.comparison.WlbSpeedup(); });
}
double MeanHybrid(std::span<const PaperRow> rows) {
  return Mean(rows, [](const PaperRow& row) { return row.comparison.HybridSpeedup(); });
}
double MeanChosen(std::span<const PaperRow> rows) {
  return Mean(rows, [](const PaperRow& row) { return row.comparison.ChosenSpeedup(); });
}
double MeanGapClosed(std::span<const PaperRow> rows) {
  return Mean(rows, [](const PaperRow& row) { return row.comparison.GapClosed(); });
}
bool AreChosen(std::span<const PaperRow> rows) {
  return !rows.empty() && rows.front().comparison.chosen.has_value();
}
double MeanBound(std::span<const PaperRow> rows) {
  return Mean(rows, [](const PaperRow& row) { return row.comparison.BoundSpeedup(); });
}

Json AlternativeJson(const std::optional<PaperAlternative>& alternative) {
  if (!alternative.has_value()) return nullptr;
  return {{"fixed_speedup", alternative->fixed_speedup},
          {"wlb_speedup", alternative->wlb_speedup}};
}

Json ComparisonJson(std::string_view name, const Comparison& comparison) {
  Json json = {{"name", name},
               {"plain_seconds", comparison.plain.step_seconds},
               {"fixed_speedup", comparison.FixedSpeedup()},
               {"wlb_speedup", comparison.WlbSpeedup()},
               {"hybrid_speedup", comparison.HybridSpeedup()},
               {"bound_speedup", comparison.BoundSpeedup()},
               {"fixed_sharding", ShardingName(comparison.fixed_sharding)},
               {"plain_pp_imbalance", comparison.plain.pp_imbalance},
               {"plain_cp_imbalance", comparison.plain.cp_imbalance}};
  if (comparison.chosen.has_value()) {
    json["chosen_speedup"] = comparison.ChosenSpeedup();
    json["chosen_bound_share"] =
        comparison.chosen->bound_seconds / comparison.chosen->step_seconds;
    json["gap_closed"] = comparison.GapClosed();
  }
  return json;
}

Json RowJson(const PaperRow& row) {
  Json json = ComparisonJson(row.config.name, row.comparison);
  json["published_fixed"] = row.config.published_fixed;
  json["published_wlb"] = row.config.published_wlb;
  json["alternatives"] = {{"split_documents", AlternativeJson(row.split_documents)},
                          {"cut_over_window", AlternativeJson(row.cut_over_window)},
                          {"interleaved", AlternativeJson(row.interleaved)}};
  return json;
}

std::string WindowName(const PaperWindow& window) {
  return absl::StrCat("7B-", window.window / 1024, "K");
}

std::string Speedup(double value) { return absl::StrFormat("%.3f", value); }
std::string Share(double value) { return absl::StrFormat("%.0f%%", 100 * value); }
std::string Published(double value) { return absl::StrFormat("%.2f", value); }

std::string AlternativeText(const std::optional<PaperAlternative>& alternative) {
  return alternative.has_value() ? Speedup(alternative->wlb_speedup) : "";
}

}  // namespace

std::string PaperJson(std::span<const PaperRow> rows) {
  Json json;
  json["configs"] = Json::array();
  for (const PaperRow& row : rows) json["configs"].push_back(RowJson(row));
  json["mean_fixed"] = MeanFixed(rows);
  json["mean_wlb"] = MeanWlb(rows);
  json["mean_hybrid"] = MeanHybrid(rows);
  json["mean_bound"] = MeanBound(rows);
  if (AreChosen(rows)) {
    json["mean_chosen"] = MeanChosen(rows);
    json["mean_gap_closed"] = MeanGapClosed(rows);
  }
  json["published_mean_fixed"] = kPublishedMeanFixed;
  json["published_mean_wlb"] = kPublishedMeanWlb;
  return JsonText(json);
}

std::string PaperText(std::span<const PaperRow> rows) {
  TextTable table({{"over plain packing", kLeft},
                   {"plain s"},
                   {"fixed"},
                   {"paper"},
                   {"wlb"},
                   {"paper"},
                   {"bound"},
                   {"hybrid"},
                   {"chosen"},
                   {"gap closed"},
                   {"", kLeft},
                   {"wlb if plain splits"},
                   {"if over-long are cut"},
                   {"if interleaved"}});
  const bool chosen = AreChosen(rows);
  for (const PaperRow& row : rows) {
    const Comparison& comparison = row.comparison;
    table.AddRow(
        {std::string(row.config.name),
         absl::StrFormat("%.3f", comparison.plain.step_seconds),
         Speedup(comparison.FixedSpeedup()), Published(row.config.published_fixed),
         Speedup(comparison.WlbSpeedup()), Published(row.config.published_wlb),
         Speedup(comparison.BoundSpeedup()), Speedup(comparison.HybridSpeedup()),
         chosen ? Speedup(comparison.ChosenSpeedup()) : "",
         chosen ? Share(comparison.GapClosed()) : "",
         Bar(comparison.WlbSpeedup() - 1, 1, 20),
         Speedup(row.split_documents.wlb_speedup), AlternativeText(row.cut_over_window),
         Speedup(row.interleaved.wlb_speedup)});
  }
  table.AddRow({"mean", "", Speedup(MeanFixed(rows)), Published(kPublishedMeanFixed),
                Speedup(MeanWlb(rows)), Published(kPublishedMeanWlb),
                Speedup(MeanBound(rows)), Speedup(MeanHybrid(rows)),
                chosen ? Speedup(MeanChosen(rows)) : "",
                chosen ? Share(MeanGapClosed(rows)) : "", "", "", "", ""});
  return table.ToString();
}

std::string WindowsJson(std::span<const WindowRow> rows) {
  Json json;
  json["configs"] = Json::array();
  for (const WindowRow& row : rows) {
    Json config = ComparisonJson(WindowName(row.window), row.comparison);
    config["published_wlb"] = row.window.published_wlb;
    json["configs"].push_back(std::move(config));
  }
  return JsonText(json);
}

std::string WindowsText(std::span<const WindowRow> rows) {
  TextTable table({{"over plain packing", kLeft},
                   {"plain s"},
                   {"fixed"},
                   {"wlb"},
                   {"paper"},
                   {"bound"},
                   {"", kLeft}});
  for (const WindowRow& row : rows) {
    const Comparison& comparison = row.comparison;
    table.AddRow(
        {WindowName(row.window), absl::StrFormat("%.3f", comparison.plain.step_seconds),
         Speedup(comparison.FixedSpeedup()), Speedup(comparison.WlbSpeedup()),
         Published(row.window.published_wlb), Speedup(comparison.BoundSpeedup()),
         Bar(comparison.WlbSpeedup() - 1, 1, 40)});
  }
  return table.ToString();
}

std::string SpeedupsJson(std::span<const PublishedSpeedup> rows) {
  Json json;
  json["configs"] = Json::array();
  for (const PublishedSpeedup& row : rows) {
    json["configs"].push_back(
        {{"name", row.name}, {"speedup", row.speedup}, {"published", row.published}});
  }
  return JsonText(json);
}

std::string SpeedupsText(std::span<const PublishedSpeedup> rows) {
  TextTable table({{"", kLeft}, {"speedup"}, {"paper"}, {"", kLeft}});
  for (const PublishedSpeedup& row : rows) {
    table.AddRow({row.name, Speedup(row.speedup), Published(row.published),
                  Bar(row.speedup - 1, 1, 40)});
  }
  return table.ToString();
}

std::string PackingJson(std::span<const PackingRow> rows) {
  Json json;
  json["configs"] = Json::array();
  for (const PackingRow& row : rows) {
    json["configs"].push_back({{"name", row.name},
                               {"imbalance", OrNull(row.imbalance)},
                               {"published", row.published},
                               {"decide_seconds", row.decide_seconds}});
  }
  return JsonText(json);
}

std::string PackingText(std::span<const PackingRow> rows) {
  TextTable table({{"policy", kLeft}, {"imbalance"}, {"paper"}, {"us"}, {"", kLeft}});
  for (const PackingRow& row : rows) {
    table.AddRow({row.name, row.imbalance.has_value() ? Speedup(*row.imbalance) : "-",
                  Published(row.published),
                  absl::StrFormat("%.1f", row.decide_seconds * 1e6),
                  Bar(row.imbalance.value_or(1) - 1, 1, 40)});
  }
  return table.ToString();
}

}  // namespace evenpack
