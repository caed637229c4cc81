#include "gpu_worker/executor/kv_layout.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

namespace evenpack::worker {
namespace {

// Tokens of a document.
struct Interval {
  uint32_t document = 0;
  uint32_t begin = 0;
  uint32_t end = 0;
};

// An interval that lies in rows one after another at its owner.
struct Piece : Interval {
  uint32_t owner = 0;
  uint64_t row = 0;
};

bool IsBefore(const Interval& a, const Interval& b) {
  return std::tie(a.document, a.begin) < std::tie(b.document, b.begin);
}

// By document and position.
std::vector<Piece> Owned(const RankSlices& slices, uint32_t owner) {
  std::vector<Piece> owned;
  owned.reserve(slices.size());
  uint64_t row = 0;
  for (size_t i = 0; i < slices.size(); ++i) {
    owned.push_back({{slices.document[i], slices.begin[i], slices.end[i]}, owner, row});
    row += slices.end[i] - slices.begin[i];
  }
  std::sort(owned.begin(), owned.end(), IsBefore);
  return owned;
}

// What the queries of the slices see, apart from each other and in order.
std::vector<Interval> Needs(const RankSlices& slices, const AttentionShape& shape) {
  std::vector<Interval> seen;
  seen.reserve(slices.size());
  for (size_t i = 0; i < slices.size(); ++i) {
    seen.push_back(
        {slices.document[i], shape.FirstKey(slices.begin[i]), slices.end[i]});
  }
  std::sort(seen.begin(), seen.end(), IsBefore);
  std::vector<Interval> needs;
  for (const Interval& interval : seen) {
    if (!needs.empty() && needs.back().document == interval.document &&
        needs.back().end >= interval.begin) {
      needs.back().end = std::max(needs.back().end, interval.end);
    } else {
      needs.push_back(interval);
    }
  }
  return needs;
}

// A rank's own tokens are among those that it needs.
bool NeedsOthers(const std::vector<Interval>& needs, const RankSlices& slices) {
  uint64_t tokens = 0;
  for (const Interval& interval : needs) tokens += interval.end - interval.begin;
  return tokens > slices.tokens;
}

// Calls visit(piece) for what of `owned` is in `needs`, in order.
template <typename Visit>
void ForEachNeeded(const std::vector<Interval>& needs, const std::vector<Piece>& owned,
                   Visit visit) {
  auto need = needs.begin();
  for (const Piece& piece : owned) {
    while (need != needs.end() &&
           (need->document < piece.document ||
            (need->document == piece.document && need->end <= piece.begin))) {
      ++need;
    }
    for (auto at = need;
         at != needs.end() && at->document == piece.document && at->begin < piece.end;
         ++at) {
      Piece needed = piece;
      needed.begin = std::max(piece.begin, at->begin);
      needed.end = std::min(piece.end, at->end);
      needed.row = piece.row + (needed.begin - piece.begin);
      visit(needed);
    }
  }
}

void Append(RowRange range, std::vector<RowRange>& ranges) {
  if (!ranges.empty() && ranges.back().row + ranges.back().count == range.row) {
    ranges.back().count += range.count;
  } else {
    ranges.push_back(range);
  }
}

// Keys that a rank can read, by document and position.
struct Readable : Interval {
  uint64_t row = 0;
  bool received = false;
};

std::vector<KeyRun> RunsOf(const Interval& seen,
                           const std::vector<Readable>& readable) {
  std::vector<KeyRun> runs;
  auto at = std::partition_point(
      readable.begin(), readable.end(), [&seen](const Readable& keys) {
        return std::tie(keys.document, keys.end) <= std::tie(seen.document, seen.begin);
      });
  for (; at != readable.end() && at->document == seen.document && at->begin < seen.end;
       ++at) {
    const uint32_t begin = std::max(at->begin, seen.begin);
    const uint32_t end = std::min(at->end, seen.end);
    const KeyRun run = {begin, end - begin, at->row + (begin - at->begin),
                        at->received};
    if (!runs.empty() && runs.back().received == run.received &&
        runs.back().row + runs.back().count == run.row) {
      runs.back().count += run.count;
    } else {
      runs.push_back(run);
    }
  }
  return runs;
}

// Fills in what is received, and returns what can be read: with kTogether, in received
// rows alone.
std::vector<Readable> Receive(const std::vector<Interval>& needs,
                              const std::vector<std::vector<Piece>>& owned,
                              uint32_t rank, KeyPlacement placement, KvLayout& layout) {
  std::vector<Piece> pieces;
  for (const std::vector<Piece>& of_one : owned) {
    ForEachNeeded(needs, of_one,
                  [&pieces](const Piece& piece) { pieces.push_back(piece); });
  }
  std::sort(pieces.begin(), pieces.end(), IsBefore);
  std::vector<Readable> readable;
  readable.reserve(pieces.size());
  for (const Piece& piece : pieces) {
    if (piece.owner == rank && placement == KeyPlacement::kWhereTheyAre) {
      readable.push_back({piece, piece.row, false});
      continue;
    }
    const uint64_t count = piece.end - piece.begin;
    readable.push_back({piece, layout.received_rows, true});
    if (piece.owner == rank) {
      layout.copies.push_back({piece.row, layout.received_rows, count});
    } else {
      Append({layout.received_rows, count}, layout.receive[piece.owner]);
    }
    layout.received_rows += count;
  }
  return readable;
}

std::vector<Readable> InPlace(const std::vector<Piece>& owned) {
  std::vector<Readable> readable;
  readable.reserve(owned.size());
  for (const Piece& piece : owned) readable.push_back({piece, piece.row, false});
  return readable;
}

// Whether all keys of the interval lie one after another.
bool AreOneRun(const Interval& seen, const std::vector<Readable>& readable) {
  const std::vector<KeyRun> runs = RunsOf(seen, readable);
  return runs.size() == 1 && runs.front().count == seen.end - seen.begin;
}

Interval SeenBy(const RankSlices& slices, size_t slice, const AttentionShape& shape) {
  return {slices.document[slice], shape.FirstKey(slices.begin[slice]),
          slices.end[slice]};
}

// Those whose keys are not one run in the rank's own rows.
RankSlices Scattered(const RankSlices& slices, const std::vector<Readable>& own,
                     const AttentionShape& shape) {
  RankSlices scattered;
  for (size_t i = 0; i < slices.size(); ++i) {
    if (AreOneRun(SeenBy(slices, i, shape), own)) continue;
    scattered.document.push_back(slices.document[i]);
    scattered.begin.push_back(slices.begin[i]);
    scattered.end.push_back(slices.end[i]);
  }
  return scattered;
}

// Fills in what the rank receives, and its tasks.
void AddTasks(const std::vector<std::vector<Piece>>& owned, const RankSlices& slices,
              uint32_t rank, const AttentionShape& shape, KeyPlacement placement,
              KvLayout& layout) {
  const bool together = placement == KeyPlacement::kTogether;
  std::vector<Readable> own;
  if (together) own = InPlace(owned[rank]);
  const std::vector<Readable> readable =
      Receive(Needs(together ? Scattered(slices, own, shape) : slices, shape), owned,
              rank, placement, layout);
  uint64_t row = 0;
  for (size_t i = 0; i < slices.size(); ++i) {
    const Interval seen = SeenBy(slices, i, shape);
    const bool in_place = together && AreOneRun(seen, own);
    layout.tasks.push_back({seen.document, slices.begin[i], slices.end[i], row,
                            RunsOf(seen, in_place ? own : readable)});
    row += slices.end[i] - slices.begin[i];
  }
}

}  // namespace

KvLayout LayOut(const ShardPlan& plan, uint32_t rank, const AttentionShape& shape,
                KeyPlacement placement) {
  const std::vector<RankSlices> slices = ExpandAllRanks(plan);
  std::vector<std::vector<Piece>> owned;
  owned.reserve(slices.size());
  for (uint32_t r = 0; r < plan.context_parallel; ++r) {
    owned.push_back(Owned(slices[r], r));
  }
  KvLayout layout;
  layout.own_rows = slices[rank].tokens;
  layout.send.resize(plan.context_parallel);
  layout.receive.resize(plan.context_parallel);
  for (uint32_t r = 0; r < plan.context_parallel; ++r) {
    const std::vector<Interval> needs = Needs(slices[r], shape);
    layout.exchanges = layout.exchanges || NeedsOthers(needs, slices[r]);
    if (r == rank) continue;
    ForEachNeeded(needs, owned[rank], [&](const Piece& piece) {
      Append({piece.row, piece.end - piece.begin}, layout.send[r]);
    });
  }
  AddTasks(owned, slices[rank], rank, shape, placement, layout);
  return layout;
}

}  // namespace evenpack::worker
