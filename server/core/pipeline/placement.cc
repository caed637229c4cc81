#include "server/core/pipeline/placement.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "server/core/pipeline/placement_search.h"
#include "server/core/pipeline/rank_assignment.h"

namespace evenpack {
namespace {

// Exchanges between ranks by estimate have this part of the budget at most, so that
// timing, which is right, has the rest.
constexpr uint64_t kEstimatesPart = 4;

// The slowest passes of rows of micro-batches that meet: row i has rows[i * width] and
// the next ones.
std::vector<PassTime> SlowestOfRows(std::span<const PassTime> times,
                                    std::span<const uint32_t> rows, size_t width) {
  std::vector<PassTime> slowest;
  std::vector<PassTime> row(width);
  for (size_t i = 0; i < rows.size(); i += width) {
    for (size_t j = 0; j < width; ++j) row[j] = times[rows[i + j]];
    slowest.push_back(SlowestOf(row));
  }
  return slowest;
}

}  // namespace

Placer::Placer(const PipelineShape& shape, uint32_t data_parallel,
               SyncDomain sync_domain)
    : shape_(shape),
      data_parallel_(data_parallel),
      sync_domain_(sync_domain),
      timer_(shape) {}

Placement Placer::Place(std::span<const PassTime> times, uint64_t operations) {
  const bool rows = sync_domain_ == SyncDomain::kMicroBatch && data_parallel_ > 1;
  return rows ? PlaceRows(times, operations) : PlaceOnRanks(times, operations);
}

Placement Placer::PlaceOnRanks(std::span<const PassTime> times, uint64_t operations) {
  const std::vector<MicroBatchLoad> loads = LoadsOf(shape_, times);
  SearchBudget budget(operations);
  PlacementSearch search(timer_, times, loads, budget);
  RankedOrder best = search.Given();
  const int64_t given_ns = best.SlowestNs();
  if (search.AllOrdersFit(operations)) {
    search.TryAllOrders(best);
    return {std::move(best.order), given_ns, best.SlowestNs()};
  }
  const auto ranks = static_cast<uint32_t>(times.size() / shape_.micro_batches);
  SearchBudget estimates(operations / kEstimatesPart);
  SearchBudget none(0);
  std::vector<RankedOrder> starts;
  for (SearchBudget* exchanges : {&estimates, &none}) {
    starts.push_back(search.Arranged(
        AssignToRanks(loads, ranks, shape_.pipeline_parallel, *exchanges)));
    if (ranks == 1) break;
  }
  starts.push_back(best);
  for (RankedOrder& start : starts) {
    search.Improve(start);
    if (start.SlowestNs() < best.SlowestNs()) best = std::move(start);
  }
  return {std::move(best.order), given_ns, best.SlowestNs()};
}

Placement Placer::PlaceRows(std::span<const PassTime> times, uint64_t operations) {
  const size_t ranks = data_parallel_;
  const size_t micro_batches = shape_.micro_batches;
  Placement given;
  given.order.resize(times.size());
  std::iota(given.order.begin(), given.order.end(), 0);
  std::vector<uint32_t> rows = given.order;
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i] = static_cast<uint32_t>(i % ranks * micro_batches + i / ranks);
  }
  const std::span<const uint32_t> in_turn(given.order.data(), micro_batches);
  given.given_ns = timer_.TotalNs(SlowestOfRows(times, rows, ranks), in_turn);
  given.placed_ns = given.given_ns;
  rows = LightestFirst(LoadsOf(shape_, times));
  for (auto row = rows.begin(); row != rows.end(); row += data_parallel_) {
    std::sort(row, row + data_parallel_);
  }
  const Placement of_rows = PlaceOnRanks(SlowestOfRows(times, rows, ranks), operations);
  if (of_rows.placed_ns >= given.given_ns) return given;
  Placement placed = std::move(given);
  placed.placed_ns = of_rows.placed_ns;
  for (size_t i = 0; i < micro_batches; ++i) {
    for (size_t rank = 0; rank < ranks; ++rank) {
      placed.order[rank * micro_batches + i] = rows[of_rows.order[i] * ranks + rank];
    }
  }
  return placed;
}

}  // namespace evenpack
