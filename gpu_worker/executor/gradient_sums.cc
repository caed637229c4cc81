#include "gpu_worker/executor/gradient_sums.h"

#include <utility>
#include <vector>

#include "gpu_worker/communicator/row_copies.h"

namespace evenpack::worker {

absl::StatusOr<GradientSums> GradientSums::Uninitialized(Device& device, uint64_t rows,
                                                         size_t row) {
  GradientSums sums;
  sums.rows_ = rows;
  sums.row_ = row;
  for (std::unique_ptr<DeviceMemory>* memory : {&sums.key_, &sums.value_}) {
    absl::StatusOr<std::unique_ptr<DeviceMemory>> allocated =
        device.Allocate(sums.size() * sizeof(float));
    if (!allocated.ok()) return allocated.status();
    *memory = *std::move(allocated);
  }
  return sums;
}

absl::StatusOr<GradientSums> GradientSums::Zero(Device& device, uint64_t rows,
                                                size_t row) {
  absl::StatusOr<GradientSums> sums = Uninitialized(device, rows, row);
  if (!sums.ok()) return sums;
  const size_t bytes = row * sizeof(float);
  absl::Status status = device.Zero(sums->key(), bytes, bytes, rows);
  if (status.ok()) status = device.Zero(sums->value(), bytes, bytes, rows);
  if (!status.ok()) return status;
  return sums;
}

ReturnedGradients::ReturnedGradients(const PreparedMicroBatch& prepared,
                                     const HeadView& heads, Device& device,
                                     GradientSums sums)
    : prepared_(prepared),
      column_(heads.kv_column()),
      device_(device),
      sums_(std::move(sums)) {}

absl::StatusOr<std::unique_ptr<ReturnedGradients>> ReturnedGradients::Make(
    const PreparedMicroBatch& prepared, const HeadView& heads, Device& device) {
  absl::StatusOr<GradientSums> sums =
      GradientSums::Zero(device, prepared.layout.received_rows, heads.kv_row());
  if (!sums.ok()) return sums.status();
  return std::unique_ptr<ReturnedGradients>(
      new ReturnedGradients(prepared, heads, device, *std::move(sums)));
}

absl::Status ReturnedGradients::Start(Communicator& communicator) {
  if (!prepared_.layout.exchanges) return absl::OkStatus();
  absl::StatusOr<GradientSums> arrived =
      GradientSums::Uninitialized(device_, prepared_.returned_rows, sums_.row());
  if (!arrived.ok()) return arrived.status();
  arrived_ = *std::move(arrived);
  Exchange exchange;
  exchange.row_bytes = sums_.row() * sizeof(float);
  const auto tensor = [&](const float* from, float* to) {
    return ExchangedTensor{from, exchange.row_bytes, to, exchange.row_bytes};
  };
  exchange.tensors = {tensor(sums_.key(), arrived_.key()),
                      tensor(sums_.value(), arrived_.value())};
  exchange.send_rows = &prepared_.layout.receive;
  exchange.receive_rows = &prepared_.returned;
  transfer_ = communicator.Start(exchange);
  rank_ = communicator.rank();
  return absl::OkStatus();
}

absl::Status ReturnedGradients::AddTo(const GradientSums& own) {
  absl::Status status = transfer_ == nullptr ? absl::OkStatus() : transfer_->Wait();
  for (uint32_t peer = 0; peer < prepared_.summed.size() && status.ok(); ++peer) {
    // Of the copies, what this rank computed is added where it is.
    const bool is_own = transfer_ == nullptr || peer == rank_;
    const GradientSums& from = is_own ? sums_ : arrived_;
    std::vector<RowCopy> rows;
    for (const auto& [read, sums] : {std::pair{from.key(), own.Keys(column_)},
                                     std::pair{from.value(), own.Values(column_)}}) {
      AppendCopies(
          {read, sums_.row() * sizeof(float), sums.data, sums.stride * sizeof(float)},
          prepared_.summed[peer], sums_.row() * sizeof(float), rows);
    }
    status = device_.AddRows(rows);
  }
  return status;
}

}  // namespace evenpack::worker
