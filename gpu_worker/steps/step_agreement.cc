#include "gpu_worker/steps/step_agreement.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "gpu_worker/communicator/exchange_terms.h"
#include "gpu_worker/device/rank_values.h"

namespace evenpack::worker {
namespace {

// Begun, executed, the next one begun, ..: steps of a half.
uint64_t Halves(const StepProgress& progress) {
  return 2 * progress.step + (progress.executed ? 1 : 0);
}

// It has left out a step that the other one is at.
bool IsAhead(const StepProgress& one, const StepProgress& other) {
  return one.jumped && one.step > other.step;
}

using Told = std::array<int64_t, 2>;

Told Tell(const StepProgress& progress) {
  return {static_cast<int64_t>(Halves(progress) << 1 | (progress.jumped ? 1 : 0)),
          static_cast<int64_t>(progress.exchanged)};
}
StepProgress Heard(std::span<const int64_t> told) {
  const auto at = static_cast<uint64_t>(told[0]);
  return {at >> 2, (at >> 1 & 1) == 1, (at & 1) == 1, static_cast<uint64_t>(told[1])};
}

absl::Status Apart(uint32_t rank, const StepProgress& mine, uint32_t peer,
                   const StepProgress& other) {
  return absl::FailedPreconditionError(
      absl::StrCat("cp_rank ", peer, " is at step ", other.step, ", and cp_rank ", rank,
                   " at step ", mine.step,
                   "; accepted: all ranks of the group at one step, as after a restart "
                   "from the same checkpoint"));
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
    if (apart > most || IsAhead(ranks[peer], mine) || IsAhead(mine, ranks[peer])) {
      return Apart(rank, mine, peer, ranks[peer]);
    }
  }
  if (!mine.executed) return StepVerdict::kExecute;
  return least >= Halves(mine) ? StepVerdict::kLeave : StepVerdict::kRedo;
}

absl::Status CheckTogether(uint32_t rank, std::span<const StepProgress> ranks) {
  for (uint32_t peer = 0; peer < ranks.size(); ++peer) {
    if (ranks[peer].step == ranks[rank].step) continue;
    return Apart(rank, ranks[rank], peer, ranks[peer]);
  }
  for (uint32_t peer = 0; peer < ranks.size(); ++peer) {
    if (ranks[peer].exchanged == ranks[rank].exchanged) continue;
    return PassesDiffer(absl::StrCat("cp_rank ", peer,
                                     " has made other passes in step ",
                                     ranks[rank].step, " than cp_rank ", rank));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<StepProgress>> ExchangeProgress(Communicator& communicator,
                                                           Device& device,
                                                           const StepProgress& mine) {
  const uint32_t rank = communicator.rank();
  const absl::StatusOr<std::vector<int64_t>> told =
      OfAllRanks(communicator, device, Tell(mine));
  if (!told.ok()) {
    // Peers would wait for this rank's part.
    communicator.Abort(absl::AbortedError(
        absl::StrCat("cp_rank ", rank, ": ", told.status().message())));
    return told.status();
  }
  std::vector<StepProgress> ranks;
  for (uint32_t peer = 0; peer < communicator.size(); ++peer) {
    constexpr size_t kEach = std::tuple_size_v<Told>;
    ranks.push_back(Heard(std::span(*told).subspan(peer * kEach, kEach)));
  }
  return ranks;
}

}  // namespace evenpack::worker
