// Tensors of a pass, as Python gives them.
#ifndef EVENPACK_CLIENT_PYTHON_BINDINGS_WORKER_PASS_ARRAYS_H_
#define EVENPACK_CLIENT_PYTHON_BINDINGS_WORKER_PASS_ARRAYS_H_

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>

#include "gpu_worker/executor/prepared_micro_batch.h"

namespace evenpack::python {

// Row after row, in this process's memory or a device's.
using PassArray = nanobind::ndarray<nanobind::c_contig>;

// [rows, query_heads or kv_heads, head_size] of the shape's type, and for log_sum_exp
// [rows, query_heads] of float32.
struct ForwardArrays {
  PassArray query;
  PassArray key;
  PassArray value;
  PassArray output;
  PassArray log_sum_exp;
};
struct BackwardArrays {
  PassArray output_gradient;
  PassArray query_gradient;
  PassArray key_gradient;
  PassArray value_gradient;
};

// Throw INVALID_ARGUMENT naming the array whose form is not the micro-batch's, that has
// no memory, or that is elsewhere than on the CUDA device of that number; none: in this
// process's memory.
void Check(const worker::PreparedMicroBatch& prepared, const ForwardArrays& arrays,
           std::optional<int> cuda_device);
void Check(const worker::PreparedMicroBatch& prepared, const BackwardArrays& arrays,
           std::optional<int> cuda_device);

}  // namespace evenpack::python

#endif  // EVENPACK_CLIENT_PYTHON_BINDINGS_WORKER_PASS_ARRAYS_H_
