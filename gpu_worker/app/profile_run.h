// evenpack-worker --profile.
#ifndef EVENPACK_GPU_WORKER_APP_PROFILE_RUN_H_
#define EVENPACK_GPU_WORKER_APP_PROFILE_RUN_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "gpu_worker/app/worker_options.h"
#include "server/runtime/clock.h"

namespace evenpack::worker {

struct ProfileOutlets {
  std::function<void(const std::string& text)> print;
  // UploadProfile, with the security of the options.
  std::function<absl::Status(const std::string& address, const std::string& json)>
      upload;
};

// Measures, and on rank 0 writes: the table line by line as it goes, or with --json the
// profile; then the file, then the upload. The profile that a server didn't take is
// printed, where it is in no file. INVALID_ARGUMENT: the file can't be written; errors
// of the group and of the upload.
absl::Status RunProfile(const WorkerOptions& options, const Clock& clock,
                        const ProfileOutlets& outlets);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_APP_PROFILE_RUN_H_
