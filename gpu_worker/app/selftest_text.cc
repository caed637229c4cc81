#include "gpu_worker/app/selftest_text.h"

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

std::string Counts(const std::vector<std::pair<std::string, uint64_t>>& counts) {
  return absl::StrJoin(counts, ", ", absl::PairFormatter(" x "));
}

}  // namespace

std::string SelftestText(const SelftestOptions& options, const SelftestReport& report) {
  std::string text = absl::StrFormat(
      "%d micro-batches of %d tokens, forward and backward, from case %d of seed %d\n"
      "shardings: %s\n"
      "ranks: %s\n\n"
      "largest difference from the definition, of its largest number\n"
      "%-10s %6s %9s %11s %14s %12s %14s %9s\n",
      options.cases, report.tokens, options.first_case, options.seed,
      Counts(Shardings(report)), Counts(Ranks(report)), "elements", "cases", "output",
      "log_sum_exp", "query_gradient", "key_gradient", "value_gradient", "accepted");
  for (const ElementType type : kElementTypes) {
    const SelftestFigures& figures = report.by_type[static_cast<size_t>(type)];
    const AttentionErrors& errors = figures.errors;
    text += absl::StrFormat(
        "%-10s %6d %9.1e %11.1e %14.1e %12.1e %14.1e %9.0e\n", ElementTypeName(type),
        figures.cases, errors.output, errors.log_sum_exp, errors.query_gradient,
        errors.key_gradient, errors.value_gradient, options.accepted(type));
  }
  return text + "ok\n";
}

std::string SelftestJson(const SelftestOptions& options, const SelftestReport& report) {
  Json json = {{"seed", options.seed},        {"first_case", options.first_case},
               {"cases", options.cases},      {"tokens", report.tokens},
               {"shardings", Json::object()}, {"ranks", Json::array()},
               {"errors", Json::array()}};
  for (const auto& [name, cases] : Shardings(report)) json["shardings"][name] = cases;
  for (size_t ranks = 1; ranks < report.by_ranks.size(); ++ranks) {
    json["ranks"].push_back({{"ranks", ranks}, {"cases", report.by_ranks[ranks]}});
  }
  for (const ElementType type : kElementTypes) {
    const SelftestFigures& figures = report.by_type[static_cast<size_t>(type)];
    json["errors"].push_back({{"type", ElementTypeName(type)},
                              {"cases", figures.cases},
                              {"output", figures.errors.output},
                              {"log_sum_exp", figures.errors.log_sum_exp},
                              {"query_gradient", figures.errors.query_gradient},
                              {"key_gradient", figures.errors.key_gradient},
                              {"value_gradient", figures.errors.value_gradient},
                              {"accepted", options.accepted(type)}});
  }
  return json.dump() + "\n";
}

}  // namespace evenpack::worker
