#include "client/cli/report_json.h"

#include <optional>

#include "client/cli/document_stream.h"
#include "client/cli/json_text.h"
#include "client/cli/sharding_name.h"

namespace evenpack {
namespace {

// A member of a struct that may not be there.
template <typename Struct, typename Value>
Json Member(const std::optional<Struct>& from, Value Struct::*member) {
  return from.has_value() ? Json((*from).*member) : Json(nullptr);
}

Json ImbalanceJson(const PackFigures& figures) {
  using Imbalance = PackFigures::Imbalance;
  const std::optional<Imbalance>& imbalance = figures.imbalance;
  return {{"mean", Member(imbalance, &Imbalance::mean)},
          {"p50", Member(imbalance, &Imbalance::p50)},
          {"p99", Member(imbalance, &Imbalance::p99)},
          {"max", Member(imbalance, &Imbalance::max)},
          {"weighted", Member(imbalance, &Imbalance::weighted)}};
}

Json TokensJson(const PackFigures& figures) {
  using Tokens = PackFigures::TokensPerStep;
  const std::optional<Tokens>& tokens = figures.tokens_per_step;
  return {{"mean", Member(tokens, &Tokens::mean)},
          {"cv", Member(tokens, &Tokens::cv)},
          {"min", Member(tokens, &Tokens::min)},
          {"max", Member(tokens, &Tokens::max)}};
}

Json LongShareJson(const PackFigures& figures) {
  using Share = PackFigures::LongShare;
  const std::optional<Share>& share = figures.long_share;
  return {{"p5", Member(share, &Share::p5)},
          {"p50", Member(share, &Share::p50)},
          {"p95", Member(share, &Share::p95)},
          {"stream", figures.long_share_stream}};
}

void AddCounts(const PackFigures& figures, Json& json) {
  json["steps"] = figures.steps;
  json["drain_steps"] = figures.drain_steps;
  json["backlog_steps"] = figures.backlog_steps;
  json["documents_in"] = figures.documents_in;
  json["documents_out"] = figures.documents_out;
  json["tokens_in"] = figures.tokens_in;
  json["tokens_out"] = figures.tokens_out;
  json["left_over"] = figures.left_over;
}

Json SolverJson(const SolverFigures& solver) {
  return {{"time_limit", solver.options.time_limit},
          {"gap", solver.options.gap},
          {"windows", solver.windows},
          {"optimal_windows", solver.optimal_windows},
          {"time_limited_windows", solver.time_limited_windows},
          {"mean_gap", solver.mean_gap},
          {"max_gap", solver.max_gap},
          {"mean_solve_seconds", solver.mean_solve_seconds},
          {"max_solve_seconds", solver.max_solve_seconds},
          {"heaviest_mean", OrNull(solver.heaviest_mean)},
          {"lower_bound_mean", OrNull(solver.lower_bound_mean)}};
}

void AddPackReport(const PackReport& report, Json& json) {
  const PackFigures& figures = report.figures;
  AddCounts(figures, json);
  json["imbalance_degree"] = ImbalanceJson(figures);
  json["lower_bound"] = {{"mean", OrNull(figures.lower_bound_mean)}};
  json["token_delay_mean"] = figures.token_delay_mean;
  json["document_delay"] = {{"p50", figures.document_delay.p50},
                            {"p99", figures.document_delay.p99},
                            {"max", figures.document_delay.max}};
  json["tokens_per_step"] = TokensJson(figures);
  json["long_token_share"] = LongShareJson(figures);
  json["longest_micro_batch"] = figures.longest_micro_batch;
  json["decide_seconds"] = {{"mean", figures.decide.mean},
                            {"p50", figures.decide.p50},
                            {"p99", figures.decide.p99}};
  json["documents_per_second"] = figures.documents_per_second;
  json["digest"] = figures.digest;
  json["policy"] = report.policy;
  json["micro_batches"] = report.micro_batches;
  json["window"] = report.window;
  json["max_length"] = report.max_length;
  json["predicted_forward_seconds"] = figures.predicted_forward_seconds;
  json["imbalance_weighted_all"] = OrNull(figures.imbalance_weighted_all);
  json["imbalance_weighted_run"] = figures.imbalance_weighted_run;
  json["predicted_step_seconds"] = figures.predicted_step_seconds;
  json["step_lower_bound_seconds"] = figures.step_lower_bound_seconds;
  json["classes"] = figures.classes;
  json["search_operations"] = figures.search_operations;
  if (report.passes > 1) json["shuffle"] = kShuffleName;
  if (report.solver.has_value()) json["solver"] = SolverJson(*report.solver);
}

Json SlicesJson(const ShardReport& report) {
  Json ranks = Json::array();
  for (const RankSlices& slices : report.slices) {
    Json rank = Json::array();
    for (size_t i = 0; i < slices.size(); ++i) {
      rank.push_back({{"document", slices.document[i]},
                      {"begin", slices.begin[i]},
                      {"end", slices.end[i]}});
    }
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

}  // namespace

std::string PackJson(const PackReport& report) {
  Json json;
  AddPackReport(report, json);
  return JsonText(json);
}

std::string CompareJson(const CompareReport& report) {
  Json json;
  json["documents"] = report.documents;
  json["policies"] = Json::array();
  for (const CompareRow& row : report.rows) {
    Json policy;
    policy["name"] = row.name;
    AddPackReport(row.report, policy);
    json["policies"].push_back(std::move(policy));
  }
  return JsonText(json);
}

std::string ShardJson(const ShardReport& report) {
  Json json;
  for (const char* key :
       {"tokens_per_rank", "padding_per_rank", "attended_pairs_per_rank"}) {
    json[key] = Json::array();
  }
  json["predicted_ns_per_rank"] = report.predicted_ns;
  json["slices_per_rank"] = Json::array();
  for (const RankLoad& load : report.loads) {
    json["tokens_per_rank"].push_back(load.tokens + load.padding);
    json["padding_per_rank"].push_back(load.padding);
    json["attended_pairs_per_rank"].push_back(load.attended_pairs);
    json["slices_per_rank"].push_back(load.slices);
  }
  json["chosen"] = ShardingName(report.chosen);
  json["imbalance"] = report.imbalance;
  json["plan_seconds"] = report.plan_seconds;
  json["documents"] = report.documents;
  json["tokens"] = report.tokens;
  if (!report.slices.empty()) json["slices"] = SlicesJson(report);
  return JsonText(json);
}

}  // namespace evenpack
