// Which rows a plan's run computes with.
#ifndef EVENPACK_GPU_WORKER_CUDNN_SEQUENCE_TABLE_H_
#define EVENPACK_GPU_WORKER_CUDNN_SEQUENCE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu_worker/cudnn/attention_plan.h"

namespace evenpack::worker {

// Queries that lie in rows one after another, and the keys that they are held against.
struct Sequence {
  int64_t query_row = 0;
  int64_t queries = 0;
  int64_t key_row = 0;
  int64_t keys = 0;
  // Backward: where gradients of keys and values are written.
  int64_t key_gradient_row = 0;

  friend bool operator==(const Sequence&, const Sequence&) = default;
};

// What the sequences need of a plan, exactly; `like` says the rest.
PlanShape NeededFor(const std::vector<Sequence>& sequences, PlanShape like);

// The tables of a run as they are copied to a device.
class TableImage {
 public:
  // `shape` has room for the sequences.
  TableImage(const std::vector<Sequence>& sequences, const PlanShape& shape);

  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// Those of an image for the shape, or of a copy of it, at `at`, which is aligned for
// 64-bit numbers: for a plan's run as the driver aligns, and so are they then.
PlanTables TablesAt(const void* at, const PlanShape& shape);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDNN_SEQUENCE_TABLE_H_
