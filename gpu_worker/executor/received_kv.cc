#include "gpu_worker/executor/received_kv.h"

#include <utility>

#include "gpu_worker/communicator/row_copies.h"

namespace evenpack::worker {

ReceivedKv::ReceivedKv(const PreparedMicroBatch& prepared, const HeadRange& heads,
                       ExchangeUse use, const AttentionInput& input,
                       Communicator& communicator, Device& device)
    : heads_(prepared.shape, heads),
      status_(Start(prepared, use, input, communicator, device)) {}

absl::Status ReceivedKv::Start(const PreparedMicroBatch& prepared, ExchangeUse use,
                               const AttentionInput& input, Communicator& communicator,
                               Device& device) {
  const size_t element = BytesOf(prepared.shape.type);
  Exchange exchange;
  exchange.form = FormOf(prepared, heads_, use);
  exchange.row_bytes = heads_.kv_row() * element;
  const size_t bytes = prepared.layout.received_rows * exchange.row_bytes;
  for (std::unique_ptr<DeviceMemory>* memory : {&key_, &value_}) {
    absl::StatusOr<std::unique_ptr<DeviceMemory>> allocated = device.Allocate(bytes);
    if (!allocated.ok()) return allocated.status();
    *memory = *std::move(allocated);
  }
  const auto tensor = [&](const void* own, const DeviceMemory& received) {
    const Rows rows = heads_.Keys(own);
    return ExchangedTensor{rows.data, rows.stride * element, received.data(),
                           exchange.row_bytes};
  };
  exchange.tensors = {tensor(input.key, *key_), tensor(input.value, *value_)};
  absl::Status status = device.CopyRows(CopiesOf(
      exchange.tensors, exchange.tensors, prepared.layout.copies, exchange.row_bytes));
  if (!status.ok() || !prepared.layout.exchanges) return status;
  exchange.send_rows = &prepared.layout.send;
  exchange.receive_rows = &prepared.layout.receive;
  transfer_ = communicator.Start(exchange);
  return absl::OkStatus();
}

AttentionCall ReceivedKv::CallFor(const std::vector<AttentionTask>& tasks,
                                  const AttentionInput& input) const {
  AttentionCall call = LocalCall(heads_, tasks, input);
  call.received_key = {key_->data(), heads_.kv_row()};
  call.received_value = {value_->data(), heads_.kv_row()};
  return call;
}

AttentionCall LocalCall(const HeadView& heads, std::span<const AttentionTask> tasks,
                        const AttentionInput& input) {
  AttentionCall call;
  call.shape = heads.shape();
  call.tasks = tasks;
  call.query = heads.Queries(input.query);
  call.own_key = heads.Keys(input.key);
  call.own_value = heads.Keys(input.value);
  return call;
}

}  // namespace evenpack::worker
