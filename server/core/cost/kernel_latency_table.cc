#include "server/core/cost/kernel_latency_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

using absl::int128;

constexpr uint32_t kTile = KernelLatencyTable::kTile;
constexpr int64_t kMaxBlockPs = KernelLatencyTable::kMaxBlockPs;
constexpr int64_t kMaxLaunchNs = 1'000'000'000;
constexpr int64_t kPsPerNs = 1'000;
constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();
// Up to here a scan over an axis beats a binary search.
constexpr size_t kScanLimit = 16;

uint32_t BlocksOf(uint32_t tokens) { return tokens / kTile + (tokens % kTile != 0); }

int128 DivideRounded(int128 dividend, int64_t divisor) {
  const int128 half = divisor / 2;
  return (dividend < 0 ? dividend - half : dividend + half) / divisor;
}

std::string Indexed(absl::string_view name, size_t index) {
  return absl::StrCat(name, "[", index, "]");
}

absl::Status CheckAxis(absl::string_view name, const std::vector<uint32_t>& knots) {
  if (knots.size() < 2 || knots.size() > KernelLatencyTable::kMaxKnots) {
    return InvalidField(name, absl::StrCat(knots.size(), " knots"),
                        absl::StrCat("2 to ", KernelLatencyTable::kMaxKnots, " knots"));
  }
  uint32_t previous = 0;
  for (size_t i = 0; i < knots.size(); ++i) {
    if (knots[i] <= previous || knots[i] % kTile != 0 ||
        knots[i] > KernelLatencyTable::kMaxKnot) {
      return InvalidField(Indexed(name, i), knots[i],
                          absl::StrCat("a multiple of ", kTile, " above ", previous,
                                       ", at most ", KernelLatencyTable::kMaxKnot));
    }
    previous = knots[i];
  }
  return absl::OkStatus();
}

absl::Status CheckShape(const std::vector<uint32_t>& q_lens,
                        const std::vector<uint32_t>& kv_lens,
                        absl::string_view cells_name, size_t cells, int64_t launch_ns) {
  absl::Status status = CheckAxis("q_lens", q_lens);
  status.Update(CheckAxis("kv_lens", kv_lens));
  if (!status.ok()) return status;
  if (cells != q_lens.size() * kv_lens.size()) {
    return InvalidField(
        cells_name, absl::StrCat(cells, " values"),
        absl::StrCat(q_lens.size() * kv_lens.size(), " values, q_lens x kv_lens"));
  }
  return CheckRange("launch_ns", launch_ns, 0, kMaxLaunchNs);
}

// The last row has the longest queries: if it meets the diagonal, all do.
absl::Status CheckMeasuredCells(const std::vector<uint32_t>& q_lens,
                                const std::vector<uint32_t>& kv_lens) {
  const uint32_t second_last = kv_lens[kv_lens.size() - 2];
  if (q_lens.front() > second_last) {
    return InvalidField("q_lens[0]", q_lens.front(),
                        absl::StrCat("at most ", second_last,
                                     ", so that two kv_lens reach its diagonal"));
  }
  if (q_lens.back() > kv_lens.back()) {
    return InvalidField(Indexed("q_lens", q_lens.size() - 1), q_lens.back(),
                        absl::StrCat("at most ", kv_lens.back(), ", the last kv_len"));
  }
  return absl::OkStatus();
}

// The line through a row's cells near the diagonal.
struct Slope {
  int64_t rise_ps = 0;
  int64_t run_tokens = 1;
};

// Replaces the first `measured` cells of a row, those below the diagonal, by the line
// through the cell there with `slope`.
void ExtrapolateRow(const std::vector<uint32_t>& kv_lens, size_t measured,
                    const Slope& slope, int64_t* row) {
  for (size_t j = 0; j < measured; ++j) {
    const int64_t distance = static_cast<int64_t>(kv_lens[measured]) - kv_lens[j];
    const int128 fall =
        DivideRounded(int128(slope.rise_ps) * distance, slope.run_tokens);
    row[j] = static_cast<int64_t>(
        std::clamp(row[measured] - fall, -int128(kMaxBlockPs), int128(kMaxBlockPs)));
  }
}

absl::StatusOr<std::vector<int64_t>> BlocksFromSlices(
    const std::vector<uint32_t>& q_lens, const std::vector<uint32_t>& kv_lens,
    const std::vector<int64_t>& slice_ns) {
  std::vector<int64_t> block_ps(slice_ns.size(), 0);
  const size_t columns = kv_lens.size();
  Slope slope;
  for (size_t i = 0; i < q_lens.size(); ++i) {
    const int64_t blocks = q_lens[i] / kTile;
    const auto first = static_cast<size_t>(
        std::ranges::lower_bound(kv_lens, q_lens[i]) - kv_lens.begin());
    int64_t* row = &block_ps[i * columns];
    for (size_t j = first; j < columns; ++j) {
      const int64_t slice = slice_ns[i * columns + j];
      const int128 most = int128(kMaxBlockPs) * blocks / kPsPerNs;
      if (slice < 0 || slice > most) {
        return InvalidField(Indexed("slice_ns", i * columns + j), slice,
                            absl::StrCat("0 to ", static_cast<int64_t>(most)));
      }
      row[j] = static_cast<int64_t>(DivideRounded(int128(slice) * kPsPerNs, blocks));
    }
    if (first + 1 < columns) {
      slope = {row[first + 1] - row[first],
               static_cast<int64_t>(kv_lens[first + 1]) - kv_lens[first]};
    }
    ExtrapolateRow(kv_lens, first, slope, row);
  }
  return block_ps;
}

absl::Status CheckBlocks(const std::vector<uint32_t>& q_lens,
                         const std::vector<uint32_t>& kv_lens,
                         const std::vector<int64_t>& block_ps) {
  for (size_t i = 0; i < q_lens.size(); ++i) {
    for (size_t j = 0; j < kv_lens.size(); ++j) {
      const size_t at = i * kv_lens.size() + j;
      const int64_t least = kv_lens[j] < q_lens[i] ? -kMaxBlockPs : 0;
      if (block_ps[at] < least || block_ps[at] > kMaxBlockPs) {
        return InvalidField(Indexed("block_ps", at), block_ps[at],
                            absl::StrCat(least, " to ", kMaxBlockPs));
      }
    }
  }
  return absl::OkStatus();
}

// The tile model's constants; FromTileModel's comment says where they come from.
struct TileModel {
  double query_block_us;
  double tile_us;
  int64_t launch_ns;
};
constexpr TileModel kForwardTiles = {4.35, 1.547, 1'400};
constexpr TileModel kBackwardTiles = {15.4, 4.51, 32'000};
constexpr double kTileHeadSize = 128.0;
constexpr double kPackedThroughput = 0.8;

// Query block j of q_len/128 sees kv_blocks - q_blocks + 1 + j tiles; this is the mean
// over the blocks, linear in both lengths. Below the diagonal it may be negative.
double TilesPerBlock(uint32_t q_len, uint32_t kv_len) {
  const double q_blocks = BlocksOf(q_len);
  const double kv_blocks = BlocksOf(kv_len);
  return kv_blocks - (q_blocks - 1.0) / 2.0;
}

size_t SegmentOf(const std::vector<uint32_t>& inner_knots, uint32_t blocks) {
  if (inner_knots.size() > kScanLimit) {
    return static_cast<size_t>(std::ranges::upper_bound(inner_knots, blocks) -
                               inner_knots.begin());
  }
  size_t segment = 0;
  for (const uint32_t knot : inner_knots) segment += knot <= blocks;
  return segment;
}

std::vector<uint32_t> InnerBlocks(const std::vector<uint32_t>& knots) {
  std::vector<uint32_t> inner;
  for (size_t i = 1; i + 1 < knots.size(); ++i) inner.push_back(BlocksOf(knots[i]));
  return inner;
}

}  // namespace

absl::StatusOr<KernelLatencyTable> KernelLatencyTable::FromMeasurements(
    std::vector<uint32_t> q_lens, std::vector<uint32_t> kv_lens,
    const std::vector<int64_t>& slice_ns, int64_t launch_ns) {
  absl::Status status =
      CheckShape(q_lens, kv_lens, "slice_ns", slice_ns.size(), launch_ns);
  if (!status.ok()) return status;
  status = CheckMeasuredCells(q_lens, kv_lens);
  if (!status.ok()) return status;
  auto block_ps = BlocksFromSlices(q_lens, kv_lens, slice_ns);
  if (!block_ps.ok()) return block_ps.status();
  return FromGrid(std::move(q_lens), std::move(kv_lens), *std::move(block_ps),
                  launch_ns);
}

absl::StatusOr<KernelLatencyTable> KernelLatencyTable::FromTileModel(
    const ModelSpec& model, const HardwareSpec& hardware, uint32_t tensor_parallel,
    Pass pass) {
  absl::Status status = Validate(model);
  status.Update(Validate(hardware));
  status.Update(CheckRange("tensor_parallel", tensor_parallel, 1, 1024));
  if (!status.ok()) return status;
  const uint32_t local_heads =
      model.query_heads / tensor_parallel + (model.query_heads % tensor_parallel != 0);
  const double ps_per_us =
      1e6 * local_heads / (hardware.multiprocessors * kPackedThroughput);
  const TileModel& tiles = pass == Pass::kForward ? kForwardTiles : kBackwardTiles;
  const double tile_us = tiles.tile_us * model.head_size / kTileHeadSize;
  // The corners of everything that can be asked: the model is bilinear, so four knots
  // are all of it, and far corners keep their rounding out of the slopes.
  const std::vector<uint32_t> knots = {kTile, kMaxKnot};
  std::vector<int64_t> block_ps;
  for (const uint32_t q_len : knots) {
    for (const uint32_t kv_len : knots) {
      const double block_us =
          tiles.query_block_us + tile_us * TilesPerBlock(q_len, kv_len);
      block_ps.push_back(std::llround(block_us * ps_per_us));
    }
  }
  return FromGrid(knots, knots, std::move(block_ps), tiles.launch_ns);
}

absl::StatusOr<KernelLatencyTable> KernelLatencyTable::FromGrid(
    std::vector<uint32_t> q_lens, std::vector<uint32_t> kv_lens,
    std::vector<int64_t> block_ps, int64_t launch_ns) {
  if (q_lens.empty() && kv_lens.empty() && block_ps.empty() && launch_ns == 0) {
    return KernelLatencyTable();
  }
  absl::Status status =
      CheckShape(q_lens, kv_lens, "block_ps", block_ps.size(), launch_ns);
  if (!status.ok()) return status;
  status.Update(CheckBlocks(q_lens, kv_lens, block_ps));
  if (!status.ok()) return status;
  KernelLatencyTable table;
  table.q_lens_ = std::move(q_lens);
  table.kv_lens_ = std::move(kv_lens);
  table.block_ps_ = std::move(block_ps);
  table.launch_ns_ = launch_ns;
  table.BuildCells();
  return table;
}

void KernelLatencyTable::BuildCells() {
  inner_q_blocks_ = InnerBlocks(q_lens_);
  inner_kv_blocks_ = InnerBlocks(kv_lens_);
  const size_t columns = kv_lens_.size();
  const int128 one = int128(1) << kFractionBits;
  for (size_t i = 0; i + 1 < q_lens_.size(); ++i) {
    const int64_t height = (q_lens_[i + 1] - q_lens_[i]) / kTile;
    for (size_t j = 0; j + 1 < columns; ++j) {
      const int64_t width = (kv_lens_[j + 1] - kv_lens_[j]) / kTile;
      const int64_t* low = &block_ps_[i * columns + j];
      const int64_t* high = low + columns;
      const int64_t twist = (high[1] - high[0]) - (low[1] - low[0]);
      cells_.push_back(
          {.corner_ps = low[0],
           .q_slope =
               static_cast<int64_t>(DivideRounded(one * (high[0] - low[0]), height)),
           .kv_slope =
               static_cast<int64_t>(DivideRounded(one * (low[1] - low[0]), width)),
           .cross_slope =
               static_cast<int64_t>(DivideRounded(one * twist, height * width)),
           .q_block = q_lens_[i] / kTile,
           .kv_block = kv_lens_[j] / kTile});
    }
  }
  least_block_ps_ = kMaxBlockPs;
  for (size_t i = 0; i < q_lens_.size(); ++i) {
    for (size_t j = 0; j < columns; ++j) {
      if (kv_lens_[j] < q_lens_[i]) continue;
      const int64_t tiles = kv_lens_[j] / kTile;
      least_block_ps_ = std::min(least_block_ps_, block_ps_[i * columns + j] / tiles);
    }
  }
}

const KernelLatencyTable::Cell& KernelLatencyTable::CellAt(uint32_t q_blocks,
                                                           uint32_t kv_blocks) const {
  const size_t row = SegmentOf(inner_q_blocks_, q_blocks);
  return cells_[row * (kv_lens_.size() - 1) + SegmentOf(inner_kv_blocks_, kv_blocks)];
}

int64_t KernelLatencyTable::BlockPs(uint32_t q_blocks, uint32_t kv_blocks) const {
  const Cell& cell = CellAt(q_blocks, kv_blocks);
  const int64_t q = static_cast<int64_t>(q_blocks) - cell.q_block;
  const int64_t kv = static_cast<int64_t>(kv_blocks) - cell.kv_block;
  const int128 half = int128(1) << (kFractionBits - 1);
  const int128 offset = int128(cell.q_slope) * q + int128(cell.kv_slope) * kv +
                        int128(cell.cross_slope) * (q * kv);
  const int128 block = cell.corner_ps + ((offset + half) >> kFractionBits);
  return static_cast<int64_t>(
      std::clamp(block, int128(least_block_ps_), int128(kMaxInt64)));
}

int128 KernelLatencyTable::ExactSlicePs(uint32_t q_len, uint32_t kv_len) const {
  if (q_len == 0 || cells_.empty()) return 0;
  const uint32_t q_blocks = BlocksOf(q_len);
  const uint32_t kv_blocks = BlocksOf(std::max(q_len, kv_len));
  return int128(BlockPs(q_blocks, kv_blocks)) * q_blocks;
}

int64_t KernelLatencyTable::SlicePs(uint32_t q_len, uint32_t kv_len) const {
  const int128 slice = ExactSlicePs(q_len, kv_len);
  return slice > kMaxInt64 ? kMaxInt64 : static_cast<int64_t>(slice);
}

int64_t KernelLatencyTable::SliceNs(uint32_t q_len, uint32_t kv_len) const {
  const int128 slice = ExactSlicePs(q_len, kv_len);
  // The division of 64 bits is several times as fast, and enough but for giants.
  if (slice < kMaxInt64 - kPsPerNs) {
    return (static_cast<int64_t>(slice) + kPsPerNs / 2) / kPsPerNs;
  }
  const int128 rounded = DivideRounded(slice, kPsPerNs);
  return rounded > kMaxInt64 ? kMaxInt64 : static_cast<int64_t>(rounded);
}

bool operator==(const KernelLatencyTable& a, const KernelLatencyTable& b) {
  return a.q_lens_ == b.q_lens_ && a.kv_lens_ == b.kv_lens_ &&
         a.block_ps_ == b.block_ps_ && a.launch_ns_ == b.launch_ns_;
}

}  // namespace evenpack
