#include "gpu_worker/profile/made_slices.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "gpu_worker/attention/element_type.h"
#include "gpu_worker/reference/synthetic_tensor.h"

namespace evenpack::worker {
namespace {

// Tokens that are made up; longer tensors repeat them, since making them takes longer
// than computing with them.
constexpr uint32_t kMadeTokens = 4096;

std::vector<char> Rows(const AttentionShape& shape, TensorRole role, uint32_t tokens,
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

absl::Status Put(const AttentionShape& shape, TensorRole role, uint32_t tokens,
                 size_t row_size, Device& device,
                 std::unique_ptr<DeviceMemory>& memory) {
  const size_t row_bytes = row_size * BytesOf(shape.type);
  absl::StatusOr<std::unique_ptr<DeviceMemory>> allocated =
      device.Allocate(tokens * row_bytes);
  if (!allocated.ok()) return allocated.status();
  memory = *std::move(allocated);
  const std::vector<char> made =
      Rows(shape, role, std::min(tokens, kMadeTokens), row_size);
  absl::Status status;
  for (size_t at = 0; at < tokens * row_bytes && status.ok(); at += made.size()) {
    status =
        device.CopyFromHost(made.data(), std::min(made.size(), tokens * row_bytes - at),
                            static_cast<char*>(memory->data()) + at);
  }
  return status;
}

absl::Status Take(size_t bytes, Device& device, std::unique_ptr<DeviceMemory>& memory) {
  absl::StatusOr<std::unique_ptr<DeviceMemory>> allocated = device.Allocate(bytes);
  if (!allocated.ok()) return allocated.status();
  memory = *std::move(allocated);
  return device.Zero(memory->data(), bytes, bytes, 1);
}

}  // namespace

MadeSlices::MadeSlices(const AttentionShape& shape, const SliceLengths& lengths,
                       Device& device)
    : shape_(shape),
      query_tokens_(lengths.count * lengths.q_len),
      key_tokens_(lengths.count * lengths.kv_len),
      device_(device) {
  const uint32_t begin = lengths.kv_len - lengths.q_len;
  const uint32_t first = shape.FirstKey(begin);
  for (uint32_t i = 0; i < lengths.count; ++i) {
    const uint64_t row = uint64_t{i} * lengths.kv_len + first;
    tasks_.push_back({i,
                      begin,
                      lengths.kv_len,
                      uint64_t{i} * lengths.q_len,
                      {{first, lengths.kv_len - first, row, false}}});
  }
}

absl::StatusOr<std::unique_ptr<MadeSlices>> MadeSlices::Make(
    const AttentionShape& shape, const SliceLengths& lengths, Device& device) {
  std::unique_ptr<MadeSlices> slices(new MadeSlices(shape, lengths, device));
  if (absl::Status status = slices->Fill(); !status.ok()) return status;
  return slices;
}

absl::Status MadeSlices::Fill() {
  const size_t query = shape_.query_row();
  const size_t key = shape_.kv_row();
  absl::Status status =
      Put(shape_, TensorRole::kQuery, query_tokens_, query, device_, query_);
  status.Update(Put(shape_, TensorRole::kKey, key_tokens_, key, device_, key_));
  status.Update(Put(shape_, TensorRole::kValue, key_tokens_, key, device_, value_));
  status.Update(Put(shape_, TensorRole::kOutputGradient, query_tokens_, query, device_,
                    output_gradient_));
  const size_t element = BytesOf(shape_.type);
  status.Update(Take(query_tokens_ * query * element, device_, output_));
  status.Update(Take(size_t{query_tokens_} * shape_.query_heads * sizeof(float),
                     device_, log_sum_exp_));
  status.Update(Take(query_tokens_ * query * element, device_, query_gradient_));
  status.Update(Take(key_tokens_ * key * sizeof(float), device_, key_gradient_));
  status.Update(Take(key_tokens_ * key * sizeof(float), device_, value_gradient_));
  if (!status.ok()) return status;
  call_.shape = shape_;
  call_.tasks = tasks_;
  call_.query = {query_->data(), query};
  call_.own_key = {key_->data(), key};
  call_.own_value = {value_->data(), key};
  return status;
}

absl::Status MadeSlices::Forward(AttentionEngine& engine) {
  absl::Status status =
      engine.Forward(call_, {{output_->data(), shape_.query_row()}, LogSumExp()});
  return status.ok() ? device_.Finish() : status;
}

absl::Status MadeSlices::Backward(AttentionEngine& engine) {
  std::vector<KeyGradients> left;
  BackwardResult result;
  result.query_gradient = {query_gradient_->data(), shape_.query_row()};
  if (engine.leaves_key_gradients()) {
    result.key_gradients = &left;
  } else {
    result.own_key_gradient = {Floats(key_gradient_), shape_.kv_row()};
    result.own_value_gradient = {Floats(value_gradient_), shape_.kv_row()};
  }
  absl::Status status =
      engine.Backward(call_,
                      {{output_->data(), shape_.query_row()},
                       LogSumExp(),
                       {output_gradient_->data(), shape_.query_row()}},
                      result);
  if (status.ok() && engine.leaves_key_gradients()) status = Sum(left);
  return status.ok() ? device_.Finish() : status;
}

absl::Status MadeSlices::Sum(std::span<const KeyGradients> left) {
  std::vector<ColumnTerm> terms;
  AppendTerms(left, 0, shape_.kv_row(), terms);
  return SumColumns(terms,
                    {shape_.type,
                     {key_gradient_->data(), value_gradient_->data()},
                     shape_.kv_row() * BytesOf(shape_.type),
                     shape_.kv_row(),
                     key_tokens_},
                    device_);
}

}  // namespace evenpack::worker
