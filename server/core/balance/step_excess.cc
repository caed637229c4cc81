#include "server/core/balance/step_excess.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "absl/numeric/int128.h"

namespace evenpack {
namespace {

using absl::int128;

// What a group, or the step, comes to.
struct GroupTime {
  int64_t computed_ns = 0;
  int64_t waited_ns = 0;
  // Sum over its ranks.
  int64_t predicted_ns = 0;
  int64_t most_predicted_ns = 0;

  int64_t time_ns() const { return computed_ns + waited_ns; }
};

GroupTime TimeOf(std::span<const RankTime> ranks) {
  GroupTime group;
  group.waited_ns = kMaxRankNs;
  for (const RankTime& rank : ranks) {
    group.computed_ns = std::max(group.computed_ns, rank.computed_ns);
    group.waited_ns = std::min(group.waited_ns, rank.waited_ns);
    group.predicted_ns += rank.predicted_ns;
    group.most_predicted_ns = std::max(group.most_predicted_ns, rank.predicted_ns);
  }
  return group;
}

std::optional<TimeScale> ScaleOf(std::span<const RankTime> ranks) {
  std::vector<TimeScale> ratios;
  for (const RankTime& rank : ranks) {
    if (rank.predicted_ns > 0 && rank.computed_ns > 0) {
      ratios.push_back({rank.computed_ns, rank.predicted_ns});
    }
  }
  if (ratios.empty()) return std::nullopt;
  const auto middle =
      ratios.begin() + static_cast<std::ptrdiff_t>((ratios.size() - 1) / 2);
  std::nth_element(ratios.begin(), middle, ratios.end(),
                   [](const TimeScale& a, const TimeScale& b) {
                     return int128(a.computed_ns) * b.predicted_ns <
                            int128(b.computed_ns) * a.predicted_ns;
                   });
  return *middle;
}

// A mean of so many, rounded down.
int64_t Mean(int128 sum, size_t count) {
  return static_cast<int64_t>(sum / static_cast<int64_t>(count));
}

void FindLatest(std::span<const RankTime> ranks, StepExcess& excess) {
  for (size_t i = 0; i < ranks.size(); ++i) {
    const int64_t late = ranks[i].computed_ns - excess.scale.Of(ranks[i].predicted_ns);
    if (late <= excess.late_ns) continue;
    excess.latest_rank = i;
    excess.late_ns = late;
  }
}

}  // namespace

int64_t TimeScale::Of(int64_t predicted) const {
  const int128 scaled =
      (int128(predicted) * computed_ns + predicted_ns / 2) / predicted_ns;
  return static_cast<int64_t>(
      std::min<int128>(scaled, std::numeric_limits<int64_t>::max()));
}

std::optional<StepExcess> SplitExcess(std::span<const RankTime> ranks,
                                      size_t group_size) {
  const std::optional<TimeScale> scale = ScaleOf(ranks);
  if (!scale.has_value()) return std::nullopt;
  GroupTime slowest;
  int128 predicted = 0;
  int64_t heaviest_mean = 0;
  int64_t heaviest_rank = 0;
  for (size_t first = 0; first < ranks.size(); first += group_size) {
    const GroupTime group = TimeOf(ranks.subspan(first, group_size));
    if (group.time_ns() > slowest.time_ns()) slowest = group;
    predicted += group.predicted_ns;
    heaviest_mean = std::max(heaviest_mean, Mean(group.predicted_ns, group_size));
    heaviest_rank = std::max(heaviest_rank, group.most_predicted_ns);
  }
  const int64_t end = slowest.computed_ns;
  const int64_t even = std::min(scale->Of(Mean(predicted, ranks.size())), end);
  const int64_t packed = std::clamp(scale->Of(heaviest_mean), even, end);
  const int64_t sharded = std::clamp(scale->Of(heaviest_rank), packed, end);
  StepExcess excess;
  excess.step_ns = slowest.time_ns();
  excess.even_ns = even;
  excess.packing_ns = packed - even;
  excess.cp_sharding_ns = sharded - packed;
  excess.communication_ns = slowest.waited_ns;
  excess.machine_ns = end - sharded;
  excess.scale = *scale;
  FindLatest(ranks, excess);
  return excess;
}

}  // namespace evenpack
