#include "gpu_worker/executor/received_kv.h"

namespace evenpack::worker {
namespace {

AttentionCall CallOf(const HeadView& heads, const std::vector<AttentionTask>& tasks,
                     const AttentionInput& input) {
  AttentionCall call;
  call.shape = heads.shape();
  call.tasks = tasks;
  call.query = heads.Queries(input.query);
  call.own_key = heads.Keys(input.key);
  call.own_value = heads.Keys(input.value);
  return call;
}

}  // namespace

ReceivedKv::ReceivedKv(const PreparedMicroBatch& prepared, const HeadRange& heads,
                       const AttentionInput& input, Communicator& communicator)
    : heads_(prepared.shape, heads) {
  const size_t element = BytesOf(prepared.shape.type);
  Exchange exchange;
  exchange.row_bytes = heads_.kv_row() * element;
  const size_t bytes = prepared.layout.received_rows * exchange.row_bytes;
  key_ = std::make_unique_for_overwrite<char[]>(bytes);
  value_ = std::make_unique_for_overwrite<char[]>(bytes);
  const auto tensor = [&](const void* own, char* received) {
    const Rows rows = heads_.Keys(own);
    return ExchangedTensor{rows.data, rows.stride * element, received,
                           exchange.row_bytes};
  };
  exchange.tensors = {tensor(input.key, key_.get()), tensor(input.value, value_.get())};
  exchange.send_rows = &prepared.layout.send;
  exchange.receive_rows = &prepared.layout.receive;
  transfer_ = communicator.Start(exchange);
}

AttentionCall ReceivedKv::CallFor(const std::vector<AttentionTask>& tasks,
                                  const AttentionInput& input) const {
  AttentionCall call = CallOf(heads_, tasks, input);
  call.received_key = {key_.get(), heads_.kv_row()};
  call.received_value = {value_.get(), heads_.kv_row()};
  return call;
}

AttentionCall LocalCall(const PreparedMicroBatch& prepared,
                        const AttentionInput& input) {
  const HeadView heads(prepared.shape, {0, prepared.shape.kv_heads});
  return CallOf(heads, prepared.local_tasks, input);
}

}  // namespace evenpack::worker
