#include "client/cli/report_text.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/sharding_name.h"
#include "client/cli/text_table.h"

namespace evenpack {
namespace {

constexpr size_t kMostRanks = 64;
constexpr size_t kBarWidth = 30;
constexpr auto kRight = TextTable::Align::kRight;
constexpr char kNoFullStep[] = "no full step";

std::string Line(std::string_view name, const std::string& value) {
  return absl::StrFormat("%-22s %s\n", std::string(name), value);
}

std::string ImbalanceText(const PackFigures& figures) {
  if (!figures.imbalance.has_value()) return kNoFullStep;
  const PackFigures::Imbalance& imbalance = *figures.imbalance;
  return absl::StrFormat(
      "mean %.4f, p50 %.4f, p99 %.4f, max %.4f, weighted %.4f (max / mean workload)",
      imbalance.mean, imbalance.p50, imbalance.p99, imbalance.max, imbalance.weighted);
}

std::string TokensText(const PackFigures& figures) {
  if (!figures.tokens_per_step.has_value()) return kNoFullStep;
  const PackFigures::TokensPerStep& tokens = *figures.tokens_per_step;
  return absl::StrFormat("mean %.0f, min %s, max %s, CV %.4f", tokens.mean,
                         Grouped(tokens.min), Grouped(tokens.max), tokens.cv);
}

std::string LongShareText(const PackFigures& figures) {
  if (!figures.long_share.has_value()) return kNoFullStep;
  const PackFigures::LongShare& share = *figures.long_share;
  return absl::StrFormat("p5 %.3f, p50 %.3f, p95 %.3f per step; stream %.3f", share.p5,
                         share.p50, share.p95, figures.long_share_stream);
}

std::string CountsText(const PackReport& report) {
  const PackFigures& figures = report.figures;
  return absl::StrCat(
      Line("policy", report.policy),
      Line("micro-batches per step",
           absl::StrFormat("%d of %s tokens, at most %s", report.micro_batches,
                           Grouped(report.window), Grouped(report.max_length))),
      Line("steps", absl::StrFormat(
                        "%s full, %s backlog, %s drain", Grouped(figures.steps),
                        Grouped(figures.backlog_steps), Grouped(figures.drain_steps))),
      Line("documents",
           absl::StrFormat("%s in, %s out, %s left over", Grouped(figures.documents_in),
                           Grouped(figures.documents_out), Grouped(figures.left_over))),
      Line("tokens", absl::StrFormat("%s in, %s out", Grouped(figures.tokens_in),
                                     Grouped(figures.tokens_out))));
}

// Empty where nothing was solved.
std::string SolverText(const std::optional<SolverFigures>& solver) {
  if (!solver.has_value()) return "";
  std::string heaviest = "no window";
  if (solver->heaviest_mean.has_value()) {
    heaviest = absl::StrFormat("mean %.4f, proven bound %.4f (max / mean load)",
                               *solver->heaviest_mean, *solver->lower_bound_mean);
  }
  return absl::StrCat(
      Line("windows solved",
           absl::StrFormat("%s, %s within %g of the best, %s out of time",
                           Grouped(solver->windows), Grouped(solver->optimal_windows),
                           solver->options.gap, Grouped(solver->time_limited_windows))),
      Line("heaviest of a window", heaviest),
      Line("gap to the bound",
           absl::StrFormat("mean %.6f, max %.6f", solver->mean_gap, solver->max_gap)),
      Line("search",
           absl::StrFormat("mean %.3f s, max %.3f s per window, limit %g s",
                           solver->mean_solve_seconds, solver->max_solve_seconds,
                           solver->options.time_limit)));
}

TextTable CompareTable() {
  return TextTable({{"policy", kLeft},
                    {"imbalance", kRight},
                    {"weighted", kRight},
                    {"above 1 (weighted)", kLeft},
                    {"token delay", kRight},
                    {"tokens/step CV", kRight},
                    {"longest", kRight},
                    {"decide us/step", kRight}});
}

std::vector<std::string> CompareCells(const CompareRow& row, double most_excess) {
  const PackFigures& figures = row.report.figures;
  std::vector<std::string> cells = {row.name, "-", "-", ""};
  if (figures.imbalance.has_value()) {
    cells = {row.name, absl::StrFormat("%.3f", figures.imbalance->mean),
             absl::StrFormat("%.3f", figures.imbalance->weighted),
             Bar(figures.imbalance->weighted - 1, most_excess, kBarWidth)};
  }
  cells.push_back(absl::StrFormat("%.2f", figures.token_delay_mean));
  cells.push_back(figures.tokens_per_step.has_value()
                      ? absl::StrFormat("%.4f", figures.tokens_per_step->cv)
                      : "-");
  cells.push_back(Grouped(figures.longest_micro_batch));
  cells.push_back(absl::StrFormat("%.1f", figures.decide.mean * 1e6));
  return cells;
}

// Every row runs the same documents to the end, so the sums of their steps' times
// compare like with like, as long as no document was cut.
std::string SpeedupText(const CompareReport& report) {
  const CompareRow& plain = report.rows.front();
  if (!plain.report.figures.imbalance.has_value()) {
    return absl::StrFormat(
        "Too few documents to compare: a step takes %s tokens. A smaller --window or "
        "fewer --micro-batches makes shorter steps.\n",
        Grouped(uint64_t{plain.report.micro_batches} * plain.report.window));
  }
  const CompareRow* best = &plain;
  for (const CompareRow& row : report.rows) {
    if (row.whole_documents && row.report.figures.predicted_forward_seconds <
                                   best->report.figures.predicted_forward_seconds) {
      best = &row;
    }
  }
  const double plain_seconds = plain.report.figures.predicted_forward_seconds;
  const double best_seconds = best->report.figures.predicted_forward_seconds;
  if (best == &plain) {
    return absl::StrCat("No policy is predicted faster than ", plain.name,
                        " on these documents.\n");
  }
  return absl::StrFormat(
      "%s is predicted %.2fx as fast as %s: all steps, each as long as its heaviest "
      "micro-batch, take %.4g s rather than %.4g s of forward time.\n",
      best->name, plain_seconds / best_seconds, plain.name, best_seconds,
      plain_seconds);
}

std::string SlicesText(const ShardReport& report) {
  TextTable table({{"rank"}, {"document"}, {"begin"}, {"end"}});
  for (size_t rank = 0; rank < report.slices.size(); ++rank) {
    const RankSlices& slices = report.slices[rank];
    for (size_t i = 0; i < slices.size(); ++i) {
      table.AddRow({absl::StrCat(rank), absl::StrCat(slices.document[i]),
                    absl::StrCat(slices.begin[i]), absl::StrCat(slices.end[i])});
    }
  }
  return table.ToString();
}

std::string RanksText(const ShardReport& report) {
  TextTable table({{"rank"},
                   {"tokens"},
                   {"padding"},
                   {"slices"},
                   {"pairs"},
                   {"predicted us"},
                   {"", kLeft}});
  const auto slowest = static_cast<double>(
      *std::max_element(report.predicted_ns.begin(), report.predicted_ns.end()));
  const size_t shown = std::min(kMostRanks, report.loads.size());
  for (size_t rank = 0; rank < shown; ++rank) {
    const RankLoad& load = report.loads[rank];
    const auto predicted = static_cast<double>(report.predicted_ns[rank]);
    table.AddRow(
        {absl::StrCat(rank), Grouped(load.tokens + load.padding), Grouped(load.padding),
         Grouped(load.slices), Grouped(load.attended_pairs),
         absl::StrFormat("%.1f", predicted / 1e3), Bar(predicted, slowest, kBarWidth)});
  }
  std::string text = table.ToString();
  if (shown < report.loads.size()) {
    absl::StrAppend(&text, "and ", report.loads.size() - shown, " more ranks\n");
  }
  return text;
}

}  // namespace

std::string PackText(const PackReport& report) {
  const PackFigures& figures = report.figures;
  const std::string bound =
      figures.lower_bound_mean.has_value()
          ? absl::StrFormat("mean %.4f", *figures.lower_bound_mean)
          : kNoFullStep;
  return absl::StrCat(
      CountsText(report), Line("imbalance degree", ImbalanceText(figures)),
      Line("lower bound", bound),
      Line("token delay",
           absl::StrFormat("mean %.3f global batches", figures.token_delay_mean)),
      Line("document delay",
           absl::StrFormat("p50 %d, p99 %d, max %d global batches",
                           figures.document_delay.p50, figures.document_delay.p99,
                           figures.document_delay.max)),
      Line("tokens per step", TokensText(figures)),
      Line("long-document share", LongShareText(figures)),
      Line("longest micro-batch", Grouped(figures.longest_micro_batch) + " tokens"),
      Line("decision",
           absl::StrFormat("mean %.1f us, p50 %.1f us, p99 %.1f us per step",
                           figures.decide.mean * 1e6, figures.decide.p50 * 1e6,
                           figures.decide.p99 * 1e6)),
      Line("engine rate", absl::StrFormat("%.2f million documents/s",
                                          figures.documents_per_second / 1e6)),
      SolverText(report.solver), Line("digest", figures.digest));
}

std::string CompareText(const CompareReport& report) {
  double most_excess = 0;
  for (const CompareRow& row : report.rows) {
    if (row.report.figures.imbalance.has_value()) {
      most_excess = std::max(most_excess, row.report.figures.imbalance->weighted - 1);
    }
  }
  TextTable table = CompareTable();
  for (const CompareRow& row : report.rows)
    table.AddRow(CompareCells(row, most_excess));
  const PackReport& first = report.rows.front().report;
  return absl::StrCat(
      absl::StrFormat(
          "%s documents, %s tokens; %d micro-batches of %s tokens a step\n\n",
          Grouped(report.documents), Grouped(first.figures.tokens_in),
          first.micro_batches, Grouped(first.window)),
      table.ToString(), "\n", SpeedupText(report));
}

std::string ShardText(const ShardReport& report) {
  std::string text = RanksText(report);
  absl::StrAppend(
      &text, absl::StrFormat(
                 "%s documents, %s tokens, %s: imbalance %.4f (max / mean), planned "
                 "in %.1f us\n",
                 Grouped(report.documents), Grouped(report.tokens),
                 std::string(ShardingName(report.chosen)), report.imbalance,
                 report.plan_seconds * 1e6));
  if (!report.slices.empty()) absl::StrAppend(&text, "\n", SlicesText(report));
  return text;
}

}  // namespace evenpack
