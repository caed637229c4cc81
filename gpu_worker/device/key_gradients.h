// Gradients of keys and values where an engine has computed them: of a call's heads.
#ifndef EVENPACK_GPU_WORKER_DEVICE_KEY_GRADIENTS_H_
#define EVENPACK_GPU_WORKER_DEVICE_KEY_GRADIENTS_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "gpu_worker/attention/element_type.h"
#include "gpu_worker/communicator/communicator.h"
#include "gpu_worker/device/column_sums.h"

namespace evenpack::worker {

struct KeyGradients {
  ElementType type = ElementType::kFloat32;
  // Some of the heads, in rows of theirs alone.
  struct Part {
    const void* key = nullptr;
    const void* value = nullptr;
    // Elements of a row.
    size_t columns = 0;
  };
  // From the call's first head to its last.
  std::vector<Part> parts;
  // From these rows to those of the call's own keys, or of the received ones where the
  // call sees those: as a RowTerm's (row_sums.h), a list for each term.
  std::vector<std::vector<RowMove>> moves;
  // Whose the memory is, until what reads it has been asked for.
  std::shared_ptr<const void> held;
};

// The terms of what an engine left, from this column on and of so many, after those
// that are there.
void AppendTerms(std::span<const KeyGradients> left, size_t column, size_t columns,
                 std::vector<ColumnTerm>& terms);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_DEVICE_KEY_GRADIENTS_H_
