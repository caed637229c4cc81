// What an engine takes for slices of all lengths.
#ifndef EVENPACK_GPU_WORKER_PROFILE_ATTENTION_GRID_H_
#define EVENPACK_GPU_WORKER_PROFILE_ATTENTION_GRID_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/attention/attention_shape.h"
#include "gpu_worker/communicator/communicator.h"
#include "gpu_worker/device/device.h"
#include "gpu_worker/profile/median_latency.h"
#include "server/runtime/clock.h"

namespace evenpack::worker {

// Nanoseconds of one layer's call.
struct PassLatency {
  int64_t forward_ns = 0;
  int64_t backward_ns = 0;

  friend bool operator==(const PassLatency&, const PassLatency&) = default;
};

struct MeasuredSlice {
  uint32_t q_len = 0;
  uint32_t kv_len = 0;
  // Beyond the launch.
  PassLatency latency;
};

struct AttentionGrid {
  // Of both axes: rising multiples of 128 tokens.
  std::vector<uint32_t> lengths;
  // What a call takes beside its slices: one of the shortest slice, less what a slice
  // more takes in a call of many of them.
  PassLatency launch;
  // Row-major by q_len; 0 where kv_len < q_len, which no slice has.
  std::vector<PassLatency> slices;
};

// 128 tokens and its doubles, up to and with `longest`, rounded up to 128; at least
// 256.
std::vector<uint32_t> GridLengths(uint32_t longest);

// `lengths`: as GridLengths has them. Every rank of the group measures the same slice
// at the same time, as in a run, where ranks share a machine's memory; the median over
// ranks counts. `shown` is told of each slice, in the order of the grid. `device` is
// the engine's; ranks of the communicator exchange in this process's memory. All ranks
// call it with the same arguments. Errors of the engine and the communicator.
absl::StatusOr<AttentionGrid> MeasureAttention(
    const AttentionShape& shape, const std::vector<uint32_t>& lengths,
    const Repetitions& repetitions, const Clock& clock, Device& device,
    AttentionEngine& engine, Communicator& communicator,
    const std::function<void(const MeasuredSlice&)>& shown);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_PROFILE_ATTENTION_GRID_H_
