#include "gpu_worker/profile/measured_profile.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace evenpack::worker {
namespace {

absl::Status Measure(const ProfileOptions& options, const Clock& clock, Device& device,
                     AttentionEngine& engine, Communicator& communicator,
                     ProfileListener& listener, MeasuredProfile& profile) {
  absl::StatusOr<AttentionGrid> grid =
      MeasureAttention(options.shape, GridLengths(options.longest), options.repetitions,
                       clock, device, engine, communicator,
                       [&](const MeasuredSlice& slice) { listener.OnSlice(slice); });
  if (!grid.ok()) return grid.status();
  profile.attention = *std::move(grid);
  auto exchanges = MeasureExchanges(
      ExchangeSizes(communicator.size(), options.most_exchange_bytes),
      options.repetitions, clock, communicator,
      [&](const MeasuredExchange& exchange) { listener.OnExchange(exchange); });
  if (!exchanges.ok()) return exchanges.status();
  profile.exchanges = *std::move(exchanges);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MeasuredProfile> MeasureProfile(const ProfileOptions& options,
                                               const Clock& clock, Device& device,
                                               AttentionEngine& engine,
                                               Communicator& communicator,
                                               ProfileListener& listener) {
  if (absl::Status status = Check(options.shape); !status.ok()) return status;
  MeasuredProfile profile;
  profile.shape = options.shape;
  profile.ranks = communicator.size();
  absl::Status status =
      Measure(options, clock, device, engine, communicator, listener, profile);
  if (status.ok()) return profile;
  // Peers would wait for this rank's part.
  communicator.Abort(absl::AbortedError(
      absl::StrCat("cp_rank ", communicator.rank(), " failed: ", status.message())));
  return status;
}

}  // namespace evenpack::worker
