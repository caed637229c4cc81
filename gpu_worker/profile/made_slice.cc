#include "gpu_worker/profile/made_slice.h"

#include <cstddef>

#include "gpu_worker/attention/element_type.h"
#include "gpu_worker/reference/synthetic_tensor.h"

namespace evenpack::worker {
namespace {

std::vector<char> Tensor(const AttentionShape& shape, TensorRole role, uint32_t tokens,
                         size_t row_size) {
  const size_t row_bytes = row_size * BytesOf(shape.type);
  std::vector<char> bytes(tokens * row_bytes);
  std::vector<float> row(row_size);
  for (uint32_t token = 0; token < tokens; ++token) {
    FillSyntheticRow(1, role, 0, token, shape.type, row);
    Store(shape.type, row.data(), row_size, bytes.data() + token * row_bytes);
  }
  return bytes;
}

}  // namespace

MadeSlice::MadeSlice(const AttentionShape& shape, uint32_t q_len, uint32_t kv_len)
    : query_(Tensor(shape, TensorRole::kQuery, q_len, shape.query_row())),
      key_(Tensor(shape, TensorRole::kKey, kv_len, shape.kv_row())),
      value_(Tensor(shape, TensorRole::kValue, kv_len, shape.kv_row())),
      output_gradient_(
          Tensor(shape, TensorRole::kOutputGradient, q_len, shape.query_row())),
      output_(query_.size()),
      log_sum_exp_(size_t{q_len} * shape.query_heads),
      query_gradient_(query_.size()),
      key_gradient_(kv_len * shape.kv_row()),
      value_gradient_(key_gradient_.size()) {
  if (q_len > 0) {
    const uint32_t first = shape.FirstKey(kv_len - q_len);
    tasks_ = {{0, kv_len - q_len, kv_len, 0, {{first, kv_len - first, first, false}}}};
  }
  call_.shape = shape;
  call_.tasks = tasks_;
  call_.query = {query_.data(), shape.query_row()};
  call_.own_key = {key_.data(), shape.kv_row()};
  call_.own_value = {value_.data(), shape.kv_row()};
}

absl::Status MadeSlice::Forward(AttentionEngine& engine) {
  return engine.Forward(call_,
                        {{output_.data(), call_.shape.query_row()}, LogSumExp()});
}

absl::Status MadeSlice::Backward(AttentionEngine& engine) {
  const AttentionShape& shape = call_.shape;
  return engine.Backward(call_,
                         {{output_.data(), shape.query_row()},
                          LogSumExp(),
                          {output_gradient_.data(), shape.query_row()}},
                         {{query_gradient_.data(), shape.query_row()},
                          {key_gradient_.data(), shape.kv_row()},
                          {value_gradient_.data(), shape.kv_row()},
                          {},
                          {}});
}

}  // namespace evenpack::worker
