#include "gpu_worker/profile/attention_grid.h"

#include <algorithm>

#include "absl/functional/function_ref.h"
#include "gpu_worker/device/rank_values.h"
#include "gpu_worker/profile/made_slices.h"

namespace evenpack::worker {
namespace {

constexpr uint32_t kTile = 128;
// A step of the sequences that plans on a device have (gpu_worker/cudnn/plan_ladder.h).
constexpr int64_t kManySlices = 64;

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

// What measures calls of `count` slices of like lengths.
using MeasureCall = absl::FunctionRef<absl::StatusOr<PassLatency>(
    uint32_t q_len, uint32_t kv_len, uint32_t count)>;

// Of a call of one slice, what it takes beside what a slice more takes in a call of
// many.
int64_t LaunchNs(int64_t one, int64_t many) {
  const int64_t slice = (many - one) / (kManySlices - 1);
  return one - std::clamp<int64_t>(slice, 0, one);
}

// Beyond the launch, nothing at least.
PassLatency Beyond(const PassLatency& launch, const PassLatency& call) {
  return {std::max<int64_t>(0, call.forward_ns - launch.forward_ns),
          std::max<int64_t>(0, call.backward_ns - launch.backward_ns)};
}

absl::Status FillGrid(MeasureCall measure, AttentionGrid& grid,
                      const std::function<void(const MeasuredSlice&)>& shown) {
  const uint32_t shortest = grid.lengths.front();
  const absl::StatusOr<PassLatency> one = measure(shortest, shortest, 1);
  if (!one.ok()) return one.status();
  const absl::StatusOr<PassLatency> many = measure(shortest, shortest, kManySlices);
  if (!many.ok()) return many.status();
  grid.launch = {LaunchNs(one->forward_ns, many->forward_ns),
                 LaunchNs(one->backward_ns, many->backward_ns)};
  for (const uint32_t q_len : grid.lengths) {
    for (const uint32_t kv_len : grid.lengths) {
      PassLatency& cell = grid.slices.emplace_back();
      if (kv_len < q_len) continue;
      // The shortest is what the launch was taken off: another measurement would differ
      // by more than it takes, where a launch is long.
      const absl::StatusOr<PassLatency> call =
          kv_len == shortest ? one : measure(q_len, kv_len, 1);
      if (!call.ok()) return call.status();
      cell = Beyond(grid.launch, *call);
      shown({q_len, kv_len, cell});
    }
  }
  return absl::OkStatus();
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
  const auto measure = [&](uint32_t q_len, uint32_t kv_len,
                           uint32_t count) -> absl::StatusOr<PassLatency> {
    const auto slices = MadeSlices::Make(shape, {q_len, kv_len, count}, device);
    if (!slices.ok()) return slices.status();
    const absl::StatusOr<int64_t> forward = Measure(
        repetitions, clock, communicator, [&] { return (*slices)->Forward(engine); });
    if (!forward.ok()) return forward.status();
    const absl::StatusOr<int64_t> backward = Measure(
        repetitions, clock, communicator, [&] { return (*slices)->Backward(engine); });
    if (!backward.ok()) return backward.status();
    return PassLatency{*forward, *backward};
  };
  AttentionGrid grid;
  grid.lengths = lengths;
  if (absl::Status status = FillGrid(measure, grid, shown); !status.ok()) return status;
  return grid;
}

}  // namespace evenpack::worker
