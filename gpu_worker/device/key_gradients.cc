#include "gpu_worker/device/key_gradients.h"

#include "gpu_worker/attention/bytes_after.h"

namespace evenpack::worker {

void AppendTerms(std::span<const KeyGradients> left, size_t column,
                 std::vector<RowTerm>& terms) {
  for (const KeyGradients& of : left) {
    const size_t element = BytesOf(of.type);
    for (const std::vector<RowMove>& moves : of.moves) {
      terms.push_back({of.type,
                       {BytesAfter(of.key, column * element),
                        BytesAfter(of.value, column * element)},
                       of.stride * element,
                       moves});
    }
  }
}

}  // namespace evenpack::worker
