// Predicted latency of the attention kernel, slice by slice.
//
//   absl::StatusOr<KernelLatencyTable> table =
//       KernelLatencyTable::FromTileModel(model, hardware, tensor_parallel);
//   int64_t picoseconds = table->SlicePs(q_len, kv_len);
#ifndef EVENPACK_SERVER_CORE_COST_KERNEL_LATENCY_TABLE_H_
#define EVENPACK_SERVER_CORE_COST_KERNEL_LATENCY_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "server/core/cost/hardware_spec.h"
#include "server/core/cost/model_spec.h"
#include "server/core/cost/pass.h"

namespace evenpack {

// A slice is q_len consecutive queries that end where the first kv_len keys of their
// document end (bottom-right causal, kv_len >= q_len): what a context-parallel rank
// computes of a document. Its latency is that of the forward pass of one layer with
// all heads of one GPU. Latencies of the slices of a launch add up; each launch costs
// launch_ns() on top.
//
// The kernel works in tiles of 128 queries by 128 keys, so both lengths count rounded
// up to 128 (WLB-LLM, adaptive sharding). The table holds the latency of one block of
// 128 queries, in picoseconds, over a grid of (q_len, kv_len); between knots it is
// bilinear, beyond them the nearest cell's plane continues, and a slice is its number
// of query blocks times that. All integers at look-up. A block never counts less than
// the cheapest measured pair of tiles: the least block / (its kv tiles) of the grid.
//
// The table assumes full causal attention, not a sliding window. Immutable after
// construction, so any number of threads may read one.
class KernelLatencyTable {
 public:
  // Queries and keys of one tile.
  static constexpr uint32_t kTile = 128;
  // Most knots of one axis.
  static constexpr size_t kMaxKnots = 512;
  // Largest knot, tokens: kMaxDocumentLength rounded up to the tile.
  static constexpr uint32_t kMaxKnot = 2147483648;
  // Largest latency of one query block: 2^50 ps, 19 minutes.
  static constexpr int64_t kMaxBlockPs = int64_t{1} << 50;

  // Predicts 0 for every slice.
  KernelLatencyTable() = default;

  // From measured slices. Knots of both axes rise and are multiples of 128, at least
  // two of each; slice_ns is row-major, q_lens.size() rows of kv_lens.size(), and
  // ignored where kv_len < q_len, which no slice has. Those cells are extrapolated
  // along kv from the row's first two measured ones; a row with one takes the slope of
  // the row before. The first row needs two measured cells, every row one.
  static absl::StatusOr<KernelLatencyTable> FromMeasurements(
      std::vector<uint32_t> q_lens, std::vector<uint32_t> kv_lens,
      const std::vector<int64_t>& slice_ns, int64_t launch_ns);

  // The default where nothing was measured: for each local query head (query_heads /
  // tensor_parallel, rounded up), (a * query blocks + c * tiles) / multiprocessors,
  // with a = 4.35 us, c = 1.547 us (at head size 128, in proportion to it) and 1.4 us a
  // launch, fitted to cuDNN's dense forward pass on H200 (716 TFLOPS asymptote, within
  // 5%), at 0.8 of that throughput for batches of documents of unequal length
  // (0.75 to 0.87 by library). docs/cost-models.md compares it with measurements. The
  // backward pass likewise, with a = 15.4 us, c = 4.51 us and 32 us a launch.
  static absl::StatusOr<KernelLatencyTable> FromTileModel(const ModelSpec& model,
                                                          const HardwareSpec& hardware,
                                                          uint32_t tensor_parallel,
                                                          Pass pass = Pass::kForward);

  // From what the accessors below return, the empty table included. Cells on and above
  // the diagonal (kv_len >= q_len) are 0 to kMaxBlockPs, the others may be negative.
  static absl::StatusOr<KernelLatencyTable> FromGrid(std::vector<uint32_t> q_lens,
                                                     std::vector<uint32_t> kv_lens,
                                                     std::vector<int64_t> block_ps,
                                                     int64_t launch_ns);

  // Picoseconds of one slice, at most the largest int64_t (107 days). 0 for q_len 0; a
  // kv_len below q_len counts as q_len.
  int64_t SlicePs(uint32_t q_len, uint32_t kv_len) const;
  // The same, rounded to nanoseconds, at most the largest int64_t.
  int64_t SliceNs(uint32_t q_len, uint32_t kv_len) const;

  bool empty() const { return q_lens_.empty(); }
  // Rising, multiples of 128.
  const std::vector<uint32_t>& q_lens() const { return q_lens_; }
  const std::vector<uint32_t>& kv_lens() const { return kv_lens_; }
  // Picoseconds of one query block, row-major, q_lens().size() rows.
  const std::vector<int64_t>& block_ps() const { return block_ps_; }
  // Fixed cost of one launch, at least 0.
  int64_t launch_ns() const { return launch_ns_; }

  friend bool operator==(const KernelLatencyTable& a, const KernelLatencyTable& b);

 private:
  // The plane of one cell of the grid around its low corner, slopes per block (and
  // per block squared) in units of 2^-kFractionBits ps.
  struct Cell {
    int64_t corner_ps;
    int64_t q_slope;
    int64_t kv_slope;
    int64_t cross_slope;
    uint32_t q_block;
    uint32_t kv_block;
  };
  static constexpr int kFractionBits = 10;

  void BuildCells();
  const Cell& CellAt(uint32_t q_blocks, uint32_t kv_blocks) const;
  int64_t BlockPs(uint32_t q_blocks, uint32_t kv_blocks) const;
  // Without a limit.
  absl::int128 ExactSlicePs(uint32_t q_len, uint32_t kv_len) const;

  std::vector<uint32_t> q_lens_;
  std::vector<uint32_t> kv_lens_;
  std::vector<int64_t> block_ps_;
  int64_t launch_ns_ = 0;

  // Derived from the above.
  std::vector<uint32_t> inner_q_blocks_;   // knots without the first and last
  std::vector<uint32_t> inner_kv_blocks_;  // likewise
  std::vector<Cell> cells_;                // row-major, one less than knots each way
  int64_t least_block_ps_ = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_COST_KERNEL_LATENCY_TABLE_H_
