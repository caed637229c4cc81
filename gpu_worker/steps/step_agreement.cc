#include "gpu_worker/steps/step_agreement.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"

namespace evenpack::worker {
namespace {

// Begun, executed, the next one begun, ..: steps of a half.
uint64_t Halves(const StepProgress& progress) {
  return 2 * progress.step + (progress.executed ? 1 : 0);
}

absl::Status Apart(uint32_t rank, const StepProgress& mine, uint32_t peer,
                   const StepProgress& other) {
  return absl::FailedPreconditionError(
      absl::StrCat("cp_rank ", peer, " is at step ", other.step, ", and cp_rank ", rank,
                   " at step ", mine.step,
                   "; accepted: all ranks of the group at one step, as after a restart "
                   "from the same checkpoint"));
}

// Each rank's number to all others, at its place among `numbers`.
absl::Status ExchangeNumbers(Communicator& communicator, Device& device,
                             std::vector<uint64_t>& numbers) {
  const size_t bytes = numbers.size() * sizeof(uint64_t);
  const absl::StatusOr<std::unique_ptr<DeviceMemory>> memory = device.Allocate(bytes);
  if (!memory.ok()) return memory.status();
  void* const data = (*memory)->data();
  absl::Status status = device.CopyFromHost(numbers.data(), bytes, data);
  if (!status.ok()) return status;
  const uint32_t rank = communicator.rank();
  std::vector<std::vector<RowRange>> send(communicator.size());
  std::vector<std::vector<RowRange>> receive(communicator.size());
  for (uint32_t peer = 0; peer < communicator.size(); ++peer) {
    if (peer == rank) continue;
    send[peer] = {{rank, 1}};
    receive[peer] = {{peer, 1}};
  }
  Exchange exchange;
  exchange.row_bytes = sizeof(uint64_t);
  exchange.tensors = {{data, sizeof(uint64_t), data, sizeof(uint64_t)}};
  exchange.send_rows = &send;
  exchange.receive_rows = &receive;
  status = communicator.Start(exchange)->WaitForArrival();
  return status.ok() ? device.CopyToHost(data, bytes, numbers.data()) : status;
}

}  // namespace

absl::StatusOr<StepVerdict> JudgeProgress(uint32_t rank,
                                          std::span<const StepProgress> ranks) {
  const StepProgress& mine = ranks[rank];
  uint64_t least = Halves(mine);
  for (uint32_t peer = 0; peer < ranks.size(); ++peer) {
    const uint64_t halves = Halves(ranks[peer]);
    least = std::min(least, halves);
    // Who is within a step has let nobody leave it, and was let into it by all; who has
    // executed one may have done so without a peer that needs none of its keys.
    const uint64_t most = mine.executed && ranks[peer].executed ? 2 : 1;
    const uint64_t apart =
        std::max(halves, Halves(mine)) - std::min(halves, Halves(mine));
    if (apart > most) return Apart(rank, mine, peer, ranks[peer]);
  }
  if (!mine.executed) return StepVerdict::kExecute;
  return least >= Halves(mine) ? StepVerdict::kLeave : StepVerdict::kRedo;
}

absl::StatusOr<std::vector<StepProgress>> ExchangeProgress(Communicator& communicator,
                                                           Device& device,
                                                           const StepProgress& mine) {
  const uint32_t rank = communicator.rank();
  std::vector<uint64_t> halves(communicator.size());
  halves[rank] = Halves(mine);
  if (absl::Status status = ExchangeNumbers(communicator, device, halves);
      !status.ok()) {
    // Peers would wait for this rank's part.
    communicator.Abort(
        absl::AbortedError(absl::StrCat("cp_rank ", rank, ": ", status.message())));
    return status;
  }
  std::vector<StepProgress> ranks(communicator.size());
  std::transform(halves.begin(), halves.end(), ranks.begin(), [](uint64_t each) {
    return StepProgress{each / 2, each % 2 == 1};
  });
  return ranks;
}

}  // namespace evenpack::worker
