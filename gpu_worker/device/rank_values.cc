#include "gpu_worker/device/rank_values.h"

#include <algorithm>
#include <cstddef>
#include <memory>

namespace evenpack::worker {

absl::StatusOr<std::vector<int64_t>> OfAllRanks(Communicator& communicator,
                                                Device& device, int64_t value) {
  return OfAllRanks(communicator, device, std::span(&value, 1));
}

absl::StatusOr<std::vector<int64_t>> OfAllRanks(Communicator& communicator,
                                                Device& device,
                                                std::span<const int64_t> values) {
  const uint32_t rank = communicator.rank();
  std::vector<int64_t> all(communicator.size() * values.size());
  std::copy(values.begin(), values.end(),
            all.begin() + static_cast<ptrdiff_t>(rank * values.size()));
  const size_t bytes = all.size() * sizeof(int64_t);
  const absl::StatusOr<std::unique_ptr<DeviceMemory>> memory = device.Allocate(bytes);
  if (!memory.ok()) return memory.status();
  void* const data = (*memory)->data();
  absl::Status status = device.CopyFromHost(all.data(), bytes, data);
  if (!status.ok()) return status;
  std::vector<std::vector<RowRange>> send(communicator.size());
  std::vector<std::vector<RowRange>> receive(communicator.size());
  for (uint32_t peer = 0; peer < communicator.size(); ++peer) {
    if (peer == rank) continue;
    send[peer] = {{rank, 1}};
    receive[peer] = {{peer, 1}};
  }
  Exchange exchange;
  exchange.row_bytes = values.size() * sizeof(int64_t);
  exchange.tensors = {{data, exchange.row_bytes, data, exchange.row_bytes}};
  exchange.send_rows = &send;
  exchange.receive_rows = &receive;
  status = communicator.Start(exchange)->WaitForArrival();
  if (status.ok()) status = device.CopyToHost(data, bytes, all.data());
  if (!status.ok()) return status;
  return all;
}

absl::Status AwaitRanks(Communicator& communicator, Device& device) {
  return OfAllRanks(communicator, device, 0).status();
}

}  // namespace evenpack::worker
