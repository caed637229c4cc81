#include "gpu_worker/cudnn/sequence_table.h"

#include <algorithm>
#include <type_traits>

#include "gpu_worker/attention/bytes_after.h"
#include "gpu_worker/cudnn/plan_memory.h"

namespace evenpack::worker {
namespace {

constexpr size_t kTablesOfOffsets = 4;
constexpr size_t kTablesOfLengths = 2;

size_t Count(const PlanShape& shape) { return static_cast<size_t>(shape.sequences); }

size_t BytesOfOffsets(const PlanShape& shape) {
  return AlignedForPlans((Count(shape) + 1) * sizeof(int64_t));
}

size_t BytesOfLengths(const PlanShape& shape) {
  return AlignedForPlans(Count(shape) * sizeof(int32_t));
}

}  // namespace

PlanShape NeededFor(const std::vector<Sequence>& sequences, PlanShape like) {
  like.sequences = static_cast<int64_t>(sequences.size());
  for (const Sequence& sequence : sequences) {
    like.queries = std::max(like.queries, sequence.queries);
    like.keys = std::max(like.keys, sequence.keys);
    if (like.pass == Pass::kForward) continue;
    // A run's own sums lie as its tensors do.
    like.all_queries =
        std::max(like.all_queries, sequence.query_row + sequence.queries);
    like.all_keys = std::max(like.all_keys, sequence.key_gradient_row + sequence.keys);
  }
  return like;
}

TableImage::TableImage(const std::vector<Sequence>& sequences, const PlanShape& shape)
    // Sequences that there are not are of length 0, wherever they begin.
    : bytes_(kTablesOfOffsets * BytesOfOffsets(shape) +
             kTablesOfLengths * BytesOfLengths(shape)) {
  const PlanTables tables = TablesAt(bytes_.data(), shape);
  const auto set = [](const auto* table, size_t i, int64_t number) {
    using Number = std::remove_cvref_t<decltype(*table)>;
    const_cast<Number*>(table)[i] = static_cast<Number>(number);
  };
  for (size_t i = 0; i < sequences.size(); ++i) {
    const Sequence& of = sequences[i];
    set(tables.query_lengths, i, of.queries);
    set(tables.key_lengths, i, of.keys);
    set(tables.query_offsets, i, of.query_row * shape.query_stride);
    set(tables.key_offsets, i, of.key_row * shape.key_stride);
    set(tables.log_sum_exp_offsets, i, of.query_row * shape.log_sum_exp_stride);
    set(tables.key_gradient_offsets, i,
        of.key_gradient_row * shape.key_gradient_stride);
  }
}

PlanTables TablesAt(const void* at, const PlanShape& shape) {
  PlanTables tables;
  const void* next = at;
  for (const int64_t** table :
       {&tables.query_offsets, &tables.key_offsets, &tables.log_sum_exp_offsets,
        &tables.key_gradient_offsets}) {
    *table = static_cast<const int64_t*>(next);
    next = BytesAfter(next, BytesOfOffsets(shape));
  }
  for (const int32_t** table : {&tables.query_lengths, &tables.key_lengths}) {
    *table = static_cast<const int32_t*>(next);
    next = BytesAfter(next, BytesOfLengths(shape));
  }
  return tables;
}

}  // namespace evenpack::worker
