// Tensors of a pass, as Python gives them.
#ifndef EVENPACK_CLIENT_PYTHON_BINDINGS_WORKER_PASS_ARRAYS_H_
#define EVENPACK_CLIENT_PYTHON_BINDINGS_WORKER_PASS_ARRAYS_H_

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "gpu_worker/executor/prepared_micro_batch.h"

namespace evenpack::python {

// In this process's memory, row after row.
using PassArray = nanobind::ndarray<nanobind::device::cpu, nanobind::c_contig>;

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

// Throw INVALID_ARGUMENT naming the array whose form is not the micro-batch's.
void Check(const worker::PreparedMicroBatch& prepared, const ForwardArrays& arrays);
void Check(const worker::PreparedMicroBatch& prepared, const BackwardArrays& arrays);

}  // namespace evenpack::python

#endif  // EVENPACK_CLIENT_PYTHON_BINDINGS_WORKER_PASS_ARRAYS_H_
