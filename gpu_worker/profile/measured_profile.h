// A whole profile of an engine and a group: what a CostProfile is made of.
#ifndef EVENPACK_GPU_WORKER_PROFILE_MEASURED_PROFILE_H_
#define EVENPACK_GPU_WORKER_PROFILE_MEASURED_PROFILE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/attention/attention_shape.h"
#include "gpu_worker/communicator/communicator.h"
#include "gpu_worker/profile/attention_grid.h"
#include "gpu_worker/profile/exchange_sizes.h"
#include "gpu_worker/profile/median_latency.h"
#include "server/runtime/clock.h"

namespace evenpack::worker {

struct ProfileOptions {
  AttentionShape shape;
  // Of the longest slice, tokens; at least 1.
  uint32_t longest = 4096;
  // That a rank receives in the largest exchange; at least 1.
  uint64_t most_exchange_bytes = 16 << 20;
  Repetitions repetitions;
};

struct MeasuredProfile {
  AttentionShape shape;
  AttentionGrid attention;
  uint32_t ranks = 1;
  // Rising; none of a single rank.
  std::vector<MeasuredExchange> exchanges;
};

// Told of each figure once it stands.
class ProfileListener {
 public:
  virtual ~ProfileListener() = default;
  virtual void OnSlice(const MeasuredSlice& slice) = 0;
  virtual void OnExchange(const MeasuredExchange& exchange) = 0;
};

// All ranks of the group call it with the same options, and have the same profile. The
// first error ends it, and aborts the group. `device`: the engine's. INVALID_ARGUMENT:
// the shape.
absl::StatusOr<MeasuredProfile> MeasureProfile(const ProfileOptions& options,
                                               const Clock& clock, Device& device,
                                               AttentionEngine& engine,
                                               Communicator& communicator,
                                               ProfileListener& listener);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_PROFILE_MEASURED_PROFILE_H_
