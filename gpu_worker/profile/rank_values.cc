#include "gpu_worker/profile/rank_values.h"

#include <memory>

namespace evenpack::worker {

absl::StatusOr<std::vector<int64_t>> OfAllRanks(Communicator& communicator,
                                                int64_t value) {
  const uint32_t ranks = communicator.size();
  std::vector<int64_t> values(ranks);
  std::vector<std::vector<RowRange>> send(ranks, {{0, 1}});
  std::vector<std::vector<RowRange>> receive(ranks);
  for (uint32_t rank = 0; rank < ranks; ++rank) receive[rank] = {{rank, 1}};
  send[communicator.rank()].clear();
  receive[communicator.rank()].clear();
  Exchange exchange;
  exchange.tensors = {{&value, sizeof(value), values.data(), sizeof(value)}};
  exchange.row_bytes = sizeof(value);
  exchange.send_rows = &send;
  exchange.receive_rows = &receive;
  if (absl::Status status = communicator.Start(exchange)->Wait(); !status.ok()) {
    return status;
  }
  values[communicator.rank()] = value;
  return values;
}

absl::Status AwaitRanks(Communicator& communicator) {
  return OfAllRanks(communicator, 0).status();
}

}  // namespace evenpack::worker
