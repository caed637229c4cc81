#include "gpu_worker/executor/gradient_sums.h"

namespace evenpack::worker {
namespace {

void AddRow(const float* values, size_t count, float* sums) {
  for (size_t i = 0; i < count; ++i) sums[i] += values[i];
}

}  // namespace

ReturnedGradients::ReturnedGradients(const PreparedMicroBatch& prepared,
                                     const HeadView& heads)
    : prepared_(prepared),
      column_(heads.kv_column()),
      sums_(prepared.layout.received_rows, heads.kv_row()),
      arrived_(0, heads.kv_row()) {}

void ReturnedGradients::Start(Communicator& communicator) {
  arrived_ = GradientSums(prepared_.returned_rows, sums_.row());
  Exchange exchange;
  exchange.row_bytes = sums_.row() * sizeof(float);
  const auto tensor = [&](const FloatRows& from, const FloatRows& to) {
    return ExchangedTensor{from.data, exchange.row_bytes, to.data, exchange.row_bytes};
  };
  exchange.tensors = {tensor(sums_.Keys(0), arrived_.Keys(0)),
                      tensor(sums_.Values(0), arrived_.Values(0))};
  exchange.send_rows = &prepared_.layout.receive;
  exchange.receive_rows = &prepared_.returned;
  transfer_ = communicator.Start(exchange);
}

absl::Status ReturnedGradients::AddTo(GradientSums& own) {
  if (absl::Status status = transfer_->Wait(); !status.ok()) return status;
  const FloatRows key = own.Keys(column_);
  const FloatRows value = own.Values(column_);
  size_t from = 0;
  for (const std::vector<RowRange>& peer : prepared_.layout.send) {
    for (const RowRange& range : peer) {
      for (uint64_t row = range.row; row < range.row + range.count; ++row) {
        AddRow(&arrived_.key()[from], sums_.row(), key.data + row * key.stride);
        AddRow(&arrived_.value()[from], sums_.row(), value.data + row * value.stride);
        from += sums_.row();
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace evenpack::worker
