#include "gpu_worker/executor/gradient_sums.h"

#include <utility>
#include <vector>

#include "gpu_worker/executor/exchange_form.h"

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
  if (absl::Status status = sums->SetToZero(device); !status.ok()) return status;
  return sums;
}

absl::Status GradientSums::SetToZero(Device& device) const {
  const size_t bytes = row_ * sizeof(float);
  absl::Status status = device.Zero(key(), bytes, bytes, rows_);
  return status.ok() ? device.Zero(value(), bytes, bytes, rows_) : status;
}

RowSums GradientSums::All() const {
  return {ElementType::kFloat32, {key(), value()}, row_ * sizeof(float), row_, rows_};
}

RowTerm GradientSums::Term(std::span<const RowMove> moves, size_t column) const {
  return {ElementType::kFloat32,
          {Keys(column).data, Values(column).data},
          row_ * sizeof(float),
          moves};
}

ReturnedGradients::ReturnedGradients(const PreparedMicroBatch& prepared, HeadView heads,
                                     Device& device, GradientSums sums)
    : prepared_(prepared),
      heads_(std::move(heads)),
      device_(device),
      sums_(std::move(sums)) {}

absl::StatusOr<std::unique_ptr<ReturnedGradients>> ReturnedGradients::Make(
    const PreparedMicroBatch& prepared, const HeadView& heads, Device& device) {
  absl::StatusOr<GradientSums> sums = GradientSums::Uninitialized(
      device, prepared.layout.received_rows, heads.kv_row());
  if (!sums.ok()) return sums.status();
  return std::unique_ptr<ReturnedGradients>(
      new ReturnedGradients(prepared, heads, device, *std::move(sums)));
}

absl::StatusOr<GradientSums*> ReturnedGradients::Zeroed() {
  if (absl::Status status = sums_.SetToZero(device_); !status.ok()) return status;
  return &sums_;
}

absl::Status ReturnedGradients::SumOf(std::span<const KeyGradients> left) {
  std::vector<ColumnTerm> terms;
  AppendTerms(left, 0, sums_.row(), terms);
  return SumColumns(terms, sums_.All(), device_);
}

absl::Status ReturnedGradients::Start(Communicator& communicator) {
  if (!prepared_.layout.exchanges) return absl::OkStatus();
  absl::StatusOr<GradientSums> arrived =
      GradientSums::Uninitialized(device_, prepared_.returned_rows, sums_.row());
  if (!arrived.ok()) return arrived.status();
  arrived_ = *std::move(arrived);
  Exchange exchange;
  exchange.form = FormOf(prepared_, heads_, ExchangeUse::kGradients);
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

absl::Status ReturnedGradients::AppendTo(std::vector<RowTerm>& terms) {
  absl::Status status = transfer_ == nullptr ? absl::OkStatus() : transfer_->Wait();
  if (!status.ok()) return status;
  for (uint32_t peer = 0; peer < prepared_.summed.size(); ++peer) {
    if (prepared_.summed[peer].empty()) continue;
    // Of the copies, what this rank computed is where it is.
    const bool is_own = transfer_ == nullptr || peer == rank_;
    terms.push_back((is_own ? sums_ : arrived_).Term(prepared_.summed[peer]));
  }
  return absl::OkStatus();
}

}  // namespace evenpack::worker
