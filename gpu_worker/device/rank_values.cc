#include "gpu_worker/device/rank_values.h"

#include <memory>

namespace evenpack::worker {

absl::StatusOr<std::vector<int64_t>> OfAllRanks(Communicator& communicator,
                                                Device& device, int64_t value) {
  const uint32_t rank = communicator.rank();
  std::vector<int64_t> values(communicator.size());
  values[rank] = value;
  const size_t bytes = values.size() * sizeof(int64_t);
  const absl::StatusOr<std::unique_ptr<DeviceMemory>> memory = device.Allocate(bytes);
  if (!memory.ok()) return memory.status();
  void* const data = (*memory)->data();
  absl::Status status = device.CopyFromHost(values.data(), bytes, data);
  if (!status.ok()) return status;
  std::vector<std::vector<RowRange>> send(communicator.size());
  std::vector<std::vector<RowRange>> receive(communicator.size());
  for (uint32_t peer = 0; peer < communicator.size(); ++peer) {
    if (peer == rank) continue;
    send[peer] = {{rank, 1}};
    receive[peer] = {{peer, 1}};
  }
  Exchange exchange;
  exchange.row_bytes = sizeof(int64_t);
  exchange.tensors = {{data, sizeof(int64_t), data, sizeof(int64_t)}};
  exchange.send_rows = &send;
  exchange.receive_rows = &receive;
  status = communicator.Start(exchange)->WaitForArrival();
  if (status.ok()) status = device.CopyToHost(data, bytes, values.data());
  if (!status.ok()) return status;
  return values;
}

absl::Status AwaitRanks(Communicator& communicator, Device& device) {
  return OfAllRanks(communicator, device, 0).status();
}

}  // namespace evenpack::worker
