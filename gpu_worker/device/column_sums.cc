#include "gpu_worker/device/column_sums.h"

#include <algorithm>
#include <vector>

#include "gpu_worker/attention/bytes_after.h"

namespace evenpack::worker {
namespace {

// Where other terms begin than those before, and the last column's end.
std::vector<size_t> Bounds(std::span<const ColumnTerm> terms, size_t columns) {
  std::vector<size_t> bounds;
  bounds.reserve(2 * terms.size() + 2);
  bounds.push_back(0);
  bounds.push_back(columns);
  for (const ColumnTerm& of : terms) {
    bounds.push_back(of.begin);
    bounds.push_back(of.end);
  }
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  return bounds;
}

}  // namespace

absl::Status SumColumns(std::span<const ColumnTerm> terms, const RowSums& sums,
                        Device& device) {
  const std::vector<size_t> bounds = Bounds(terms, sums.columns);
  absl::Status status;
  std::vector<RowTerm> of_columns;
  of_columns.reserve(terms.size());
  for (size_t i = 0; i + 1 < bounds.size() && status.ok(); ++i) {
    const size_t begin = bounds[i];
    of_columns.clear();
    for (const ColumnTerm& of : terms) {
      if (of.begin > begin || of.end <= begin) continue;
      RowTerm& term = of_columns.emplace_back(of.term);
      for (const void*& tensor : term.tensors) {
        tensor = BytesAfter(tensor, (begin - of.begin) * BytesOf(term.type));
      }
    }
    RowSums some = sums;
    some.columns = bounds[i + 1] - begin;
    for (void*& tensor : some.tensors) {
      tensor = BytesAfter(tensor, begin * BytesOf(sums.type));
    }
    status = device.SumRows(of_columns, some);
  }
  return status;
}

}  // namespace evenpack::worker
