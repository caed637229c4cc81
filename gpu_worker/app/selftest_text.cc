#include "gpu_worker/app/selftest_text.h"

#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace evenpack::worker {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::pair<std::string, uint64_t>> Shardings(const SelftestReport& report) {
  std::vector<std::pair<std::string, uint64_t>> shardings;
  for (const Sharding sharding : {Sharding::kPerSequence, Sharding::kPerDocument,
                                  Sharding::kContiguous, Sharding::kHybrid}) {
    shardings.emplace_back(NameOf(sharding),
                           report.by_sharding[static_cast<size_t>(sharding)]);
  }
  return shardings;
}

std::vector<std::pair<std::string, uint64_t>> Ranks(const SelftestReport& report) {
  std::vector<std::pair<std::string, uint64_t>> ranks;
  for (size_t count = 1; count < report.by_ranks.size(); ++count) {
    if (report.by_ranks[count] > 0) {
      ranks.emplace_back(absl::StrCat(count), report.by_ranks[count]);
    }
  }
  return ranks;
}

std::vector<std::pair<std::string, uint64_t>> Named(
    const std::map<uint32_t, uint64_t>& counts) {
  std::vector<std::pair<std::string, uint64_t>> named;
  named.reserve(counts.size());
  for (const auto& [number, cases] : counts) {
    named.emplace_back(absl::StrCat(number), cases);
  }
  return named;
}

std::string Counts(const std::vector<std::pair<std::string, uint64_t>>& counts) {
  return absl::StrJoin(counts, ", ", absl::PairFormatter(" x "));
}

Json CountsJson(const char* name, const std::map<uint32_t, uint64_t>& counts) {
  Json json = Json::array();
  for (const auto& [number, cases] : counts) {
    json.push_back({{name, number}, {"cases", cases}});
  }
  return json;
}

std::string WhatWasDrawn(const SelftestOptions& options, const SelftestReport& report) {
  return absl::StrFormat(
      "%d micro-batches of %d tokens, forward and backward, from case %d of seed %d\n"
      "shardings: %s\n"
      "ranks: %s\n"
      "head sizes: %s\n"
      "query heads for each KV head: %s\n"
      "head groups: %s\n"
      "with a sliding window: %d, with padding: %d\n",
      options.cases, report.tokens, options.first_case, options.seed,
      Counts(Shardings(report)), Counts(Ranks(report)),
      Counts(Named(report.by_head_size)), Counts(Named(report.by_sharing_heads)),
      Counts(Named(report.by_head_groups)), report.windowed, report.padded);
}

std::string ErrorsLine(ElementType type, const SelftestFigures& figures,
                       double accepted) {
  const AttentionErrors& errors = figures.errors;
  const auto shown = [&figures](double error) {
    return figures.cases == 0 ? std::string("-") : absl::StrFormat("%.1e", error);
  };
  return absl::StrFormat(
      "%-10s %6d %9s %11s %14s %12s %14s %9.0e\n", ElementTypeName(type), figures.cases,
      shown(errors.output), shown(errors.log_sum_exp), shown(errors.query_gradient),
      shown(errors.key_gradient), shown(errors.value_gradient), accepted);
}

Json ErrorsJson(ElementType type, const SelftestFigures& figures, double accepted) {
  Json json = {{"type", ElementTypeName(type)}, {"cases", figures.cases}};
  if (figures.cases > 0) {
    const AttentionErrors& errors = figures.errors;
    json["output"] = errors.output;
    json["log_sum_exp"] = errors.log_sum_exp;
    json["query_gradient"] = errors.query_gradient;
    json["key_gradient"] = errors.key_gradient;
    json["value_gradient"] = errors.value_gradient;
  }
  json["accepted"] = accepted;
  return json;
}

}  // namespace

std::string SelftestText(const SelftestOptions& options, const SelftestReport& report) {
  std::string text = absl::StrFormat(
      "%s\n"
      "largest difference from the definition, of its largest number\n"
      "%-10s %6s %9s %11s %14s %12s %14s %9s\n",
      WhatWasDrawn(options, report), "elements", "cases", "output", "log_sum_exp",
      "query_gradient", "key_gradient", "value_gradient", "accepted");
  for (const ElementType type : kElementTypes) {
    text += ErrorsLine(type, report.by_type[static_cast<size_t>(type)],
                       options.accepted(type));
  }
  return text + "ok\n";
}

std::string SelftestJson(const SelftestOptions& options, const SelftestReport& report) {
  Json json = {{"seed", options.seed},        {"first_case", options.first_case},
               {"cases", options.cases},      {"tokens", report.tokens},
               {"shardings", Json::object()}, {"ranks", Json::array()}};
  for (const auto& [name, cases] : Shardings(report)) json["shardings"][name] = cases;
  for (size_t ranks = 1; ranks < report.by_ranks.size(); ++ranks) {
    json["ranks"].push_back({{"ranks", ranks}, {"cases", report.by_ranks[ranks]}});
  }
  json["head_sizes"] = CountsJson("head_size", report.by_head_size);
  json["query_heads_per_kv_head"] = CountsJson("heads", report.by_sharing_heads);
  json["head_groups"] = CountsJson("groups", report.by_head_groups);
  json["sliding_window"] = report.windowed;
  json["padding"] = report.padded;
  json["errors"] = Json::array();
  for (const ElementType type : kElementTypes) {
    json["errors"].push_back(ErrorsJson(type, report.by_type[static_cast<size_t>(type)],
                                        options.accepted(type)));
  }
  return json.dump() + "\n";
}

}  // namespace evenpack::worker
