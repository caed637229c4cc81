// The flags of evenpack-worker --profile.
#ifndef EVENPACK_GPU_WORKER_APP_PROFILE_FLAGS_H_
#define EVENPACK_GPU_WORKER_APP_PROFILE_FLAGS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "gpu_worker/profile/measured_profile.h"

// NOLINTNEXTLINE(readability-identifier-naming): CLI11 has named it.
namespace CLI {
class App;
}

namespace evenpack::worker {

// Documented by --help, which has their bounds too.
struct ProfileFlags {
  bool profile = false;
  ProfileOptions options;
  // Ranks as threads, where there is no group of processes.
  uint32_t ranks = 2;
  std::string hardware;
  std::string name;
  // Empty: nowhere.
  std::string output;
  std::string upload;
};

// `flags` must outlive the parsing.
void AddProfileFlags(CLI::App& app, ProfileFlags& flags);

// What single flags can't tell. INVALID_ARGUMENT naming flag, value and what is
// accepted.
absl::Status CheckProfileFlags(const ProfileFlags& flags);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_APP_PROFILE_FLAGS_H_
