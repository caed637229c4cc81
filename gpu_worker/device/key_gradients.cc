#include "gpu_worker/device/key_gradients.h"

#include <algorithm>

#include "gpu_worker/attention/bytes_after.h"

namespace evenpack::worker {
namespace {

// Of `part`, whose first column is `first`, the columns from `begin` to before `end`.
void Append(const KeyGradients& of, const KeyGradients::Part& part, size_t first,
            size_t begin, size_t end, std::vector<ColumnTerm>& terms) {
  const size_t from = std::max(first, begin);
  const size_t to = std::min(first + part.columns, end);
  if (from >= to) return;
  const size_t element = BytesOf(of.type);
  const size_t skipped = (from - first) * element;
  for (const std::vector<RowMove>& moves : of.moves) {
    terms.push_back({{of.type,
                      {BytesAfter(part.key, skipped), BytesAfter(part.value, skipped)},
                      part.columns * element,
                      moves},
                     from - begin,
                     to - begin});
  }
}

}  // namespace

void AppendTerms(std::span<const KeyGradients> left, size_t column, size_t columns,
                 std::vector<ColumnTerm>& terms) {
  for (const KeyGradients& of : left) {
    size_t first = 0;
    for (const KeyGradients::Part& part : of.parts) {
      Append(of, part, first, column, column + columns, terms);
      first += part.columns;
    }
  }
}

}  // namespace evenpack::worker
