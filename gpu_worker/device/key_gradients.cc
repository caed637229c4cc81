#include "gpu_worker/device/key_gradients.h"

namespace evenpack::worker {
namespace {

const void* After(const void* data, size_t bytes) {
  return static_cast<const char*>(data) + bytes;
}

}  // namespace

void AppendTerms(std::span<const KeyGradients> left, size_t column,
                 std::vector<RowTerm>& terms) {
  for (const KeyGradients& of : left) {
    const size_t element = BytesOf(of.type);
    for (const std::vector<RowMove>& moves : of.moves) {
      terms.push_back(
          {of.type,
           {After(of.key, column * element), After(of.value, column * element)},
           of.stride * element,
           moves});
    }
  }
}

}  // namespace evenpack::worker
