// What a profile found, for people and for a server.
#ifndef EVENPACK_GPU_WORKER_APP_PROFILE_TEXT_H_
#define EVENPACK_GPU_WORKER_APP_PROFILE_TEXT_H_

#include <cstdint>
#include <string>

#include "gpu_worker/profile/measured_profile.h"

namespace evenpack::worker {

// A table of slices, then one of exchanges, line by line: the header with the first
// row.
class ProfileTable {
 public:
  explicit ProfileTable(const AttentionShape& shape) : shape_(shape) {}

  std::string Row(const MeasuredSlice& slice);
  std::string Row(const MeasuredExchange& exchange);

 private:
  const AttentionShape shape_;
  bool has_slices_ = false;
  bool has_exchanges_ = false;
};

struct ProfileLabel {
  std::string name;
  std::string hardware;
  std::string kernel;
  int64_t measured_unix_seconds = 0;
};

// evenpack.v1.CostProfile as JSON, field by field.
std::string ProfileJson(const MeasuredProfile& profile, const ProfileLabel& label);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_APP_PROFILE_TEXT_H_
