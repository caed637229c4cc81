// What the commands of evenpackctl report, before it becomes text or JSON.
#ifndef EVENPACK_CLIENT_CLI_REPORTS_H_
#define EVENPACK_CLIENT_CLI_REPORTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/pack_figures.h"
#include "client/cli/solver_figures.h"
#include "server/core/document/micro_batch.h"
#include "server/core/sharding/rank_load.h"
#include "server/core/sharding/shard_plan.h"

namespace evenpack {

struct PackReport {
  // original, fixed_greedy, wlb, fixed_solver or varlen_solver.
  std::string policy;
  uint32_t micro_batches = 0;
  uint32_t window = 0;
  uint32_t max_length = 0;
  uint64_t passes = 1;
  PackFigures figures;
  // Of the exact policies.
  std::optional<SolverFigures> solver = std::nullopt;
};

struct CompareRow {
  // Tells the row from others of the same policy.
  std::string name;
  // Documents stay whole: the row does the same attention as the others that say so.
  bool whole_documents = true;
  PackReport report;
};

struct CompareReport {
  // Documents that each row packed.
  uint64_t documents = 0;
  // The first is plain packing, `original` with whole documents.
  std::vector<CompareRow> rows;
};

struct ShardReport {
  // Never kAdaptive.
  Sharding chosen = Sharding::kPerSequence;
  uint64_t documents = 0;
  uint64_t tokens = 0;
  // One entry per rank each.
  std::vector<RankLoad> loads;
  std::vector<int64_t> predicted_ns;
  // Max over mean of predicted_ns.
  double imbalance = 1;
  // Of planning alone.
  double plan_seconds = 0;
  // One entry per rank where they are asked for, else empty.
  std::vector<RankSlices> slices;
};

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_REPORTS_H_
