#include "client/cli/prefill/prefill_report.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/json_text.h"
#include "client/cli/prefill/exponential_draw.h"
#include "client/cli/text_table.h"
#include "server/runtime/one_line.h"

namespace evenpack {
namespace {

std::string_view NameOf(Discipline discipline) {
  return kDisciplineNames[static_cast<size_t>(discipline)];
}

Json RowJson(const PrefillReport::Row& row) {
  const PrefillFigures& figures = row.figures;
  return {{"discipline", NameOf(row.discipline)},
          {"requests", figures.requests},
          {"tokens", figures.tokens},
          {"batches", figures.batches},
          {"ttft_seconds",
           {{"mean", figures.ttft_mean},
            {"p50", figures.ttft_p50},
            {"p99", figures.ttft_p99},
            {"max", figures.ttft_max}}},
          {"idle_share", figures.idle_share},
          {"seconds", figures.seconds},
          {"tokens_per_second", figures.tokens_per_second},
          {"delay_max", figures.delay_max},
          {"over_bound", figures.over_bound}};
}

std::vector<std::string> Cells(const PrefillReport::Row& row) {
  const PrefillFigures& figures = row.figures;
  const auto seconds = [](double value) { return absl::StrFormat("%.3f", value); };
  return {std::string(NameOf(row.discipline)),
          seconds(figures.ttft_mean),
          seconds(figures.ttft_p50),
          seconds(figures.ttft_p99),
          seconds(figures.ttft_max),
          absl::StrFormat("%.1f%%", figures.idle_share * 100),
          Grouped(static_cast<uint64_t>(figures.tokens_per_second)),
          Grouped(figures.batches),
          Grouped(figures.delay_max),
          Grouped(figures.over_bound)};
}

std::string ArrivalsText(const PrefillReport& report) {
  if (!report.rate.has_value()) {
    return absl::StrCat("as ", OnOneLine(report.arrivals), " says");
  }
  return absl::StrFormat("%s, %g a second (%s, seed %d)", report.arrivals, *report.rate,
                         std::string(kArrivalDrawName), report.seed);
}

std::string LoadText(const PrefillReport& report) {
  if (!report.offered_load.has_value()) return "all arrive at once";
  return absl::StrFormat("%.2f of what they can do at most", *report.offered_load);
}

}  // namespace

std::string PrefillJson(const PrefillReport& report) {
  Json json = {{"mode", "prefill"},
               {"arrivals", report.arrivals},
               {"rate", OrNull(report.rate)},
               {"draw", kArrivalDrawName},
               {"seed", report.seed},
               {"replicas", report.limits.replicas},
               {"window", report.limits.window},
               {"max_length", report.limits.max_length},
               {"max_delay",
                report.max_delay.has_value() ? Json(*report.max_delay) : Json(nullptr)},
               {"offered_load", OrNull(report.offered_load)}};
  Json& rows = json["disciplines"] = Json::array();
  for (const PrefillReport::Row& row : report.rows) rows.push_back(RowJson(row));
  return JsonText(json);
}

std::string PrefillText(const PrefillReport& report) {
  const PrefillFigures& any = report.rows.front().figures;
  TextTable table({{"discipline", kLeft},
                   {"TTFT mean s"},
                   {"p50"},
                   {"p99"},
                   {"max"},
                   {"idle"},
                   {"tokens/s"},
                   {"batches"},
                   {"delay max"},
                   {"over bound"}});
  for (const PrefillReport::Row& row : report.rows) table.AddRow(Cells(row));
  return absl::StrCat(
      absl::StrFormat("%s requests of %s tokens, %s\n", Grouped(any.requests),
                      Grouped(any.tokens), ArrivalsText(report)),
      absl::StrFormat("%d replicas of %s tokens a batch, at most %s; %s; simulated\n",
                      report.limits.replicas, Grouped(report.limits.window),
                      Grouped(report.limits.max_length), LoadText(report)),
      report.max_delay.has_value()
          ? absl::StrFormat("who let %d batches pass goes first\n", *report.max_delay)
          : "",
      "\n", table.ToString());
}

}  // namespace evenpack
