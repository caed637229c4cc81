#include "gpu_worker/profile/attention_grid.h"

#include <algorithm>

#include "absl/functional/function_ref.h"
#include "gpu_worker/device/rank_values.h"
#include "gpu_worker/profile/made_slice.h"

namespace evenpack::worker {
namespace {

constexpr uint32_t kTile = 128;

// The lower median over ranks of what each measured.
absl::StatusOr<int64_t> Measure(const Repetitions& repetitions, const Clock& clock,
                                Communicator& communicator,
                                absl::FunctionRef<absl::Status()> run) {
  if (absl::Status status = AwaitRanks(communicator, Device::Host()); !status.ok())
    return status;
  const absl::StatusOr<int64_t> own = MedianLatencyNs(
      clock, repetitions, [] { return absl::OkStatus(); }, run);
  if (!own.ok()) return own.status();
  absl::StatusOr<std::vector<int64_t>> all =
      OfAllRanks(communicator, Device::Host(), *own);
  if (!all.ok()) return all.status();
  std::sort(all->begin(), all->end());
  return (*all)[(all->size() - 1) / 2];
}

absl::StatusOr<PassLatency> MeasurePasses(MadeSlice& slice,
                                          const Repetitions& repetitions,
                                          const Clock& clock, AttentionEngine& engine,
                                          Communicator& communicator) {
  const absl::StatusOr<int64_t> forward =
      Measure(repetitions, clock, communicator, [&] { return slice.Forward(engine); });
  if (!forward.ok()) return forward.status();
  const absl::StatusOr<int64_t> backward =
      Measure(repetitions, clock, communicator, [&] { return slice.Backward(engine); });
  if (!backward.ok()) return backward.status();
  return PassLatency{*forward, *backward};
}

}  // namespace

std::vector<uint32_t> GridLengths(uint32_t longest) {
  const uint32_t last =
      std::max(2 * kTile, longest / kTile * kTile + (longest % kTile > 0 ? kTile : 0));
  std::vector<uint32_t> lengths;
  for (uint32_t length = kTile; length < last; length *= 2) lengths.push_back(length);
  lengths.push_back(last);
  return lengths;
}

absl::StatusOr<AttentionGrid> MeasureAttention(
    const AttentionShape& shape, const std::vector<uint32_t>& lengths,
    const Repetitions& repetitions, const Clock& clock, Device& device,
    AttentionEngine& engine, Communicator& communicator,
    const std::function<void(const MeasuredSlice&)>& shown) {
  AttentionGrid grid;
  grid.lengths = lengths;
  const auto nothing = MadeSlice::Make(shape, 0, 0, device);
  if (!nothing.ok()) return nothing.status();
  const auto launch =
      MeasurePasses(**nothing, repetitions, clock, engine, communicator);
  if (!launch.ok()) return launch.status();
  grid.launch = *launch;
  for (const uint32_t q_len : lengths) {
    for (const uint32_t kv_len : lengths) {
      PassLatency& cell = grid.slices.emplace_back();
      if (kv_len < q_len) continue;
      const auto slice = MadeSlice::Make(shape, q_len, kv_len, device);
      if (!slice.ok()) return slice.status();
      const auto passes =
          MeasurePasses(**slice, repetitions, clock, engine, communicator);
      if (!passes.ok()) return passes.status();
      cell.forward_ns = std::max<int64_t>(0, passes->forward_ns - launch->forward_ns);
      cell.backward_ns =
          std::max<int64_t>(0, passes->backward_ns - launch->backward_ns);
      shown({q_len, kv_len, cell});
    }
  }
  return grid;
}

}  // namespace evenpack::worker
