// Gives a profile to a server.
#ifndef EVENPACK_GPU_WORKER_APP_PROFILE_UPLOAD_H_
#define EVENPACK_GPU_WORKER_APP_PROFILE_UPLOAD_H_

#include <string>

#include "absl/status/status.h"
#include "client/cpp/security.h"

namespace evenpack::worker {

// `json`: evenpack.v1.CostProfile. The server's error; UNAVAILABLE where it can't be
// reached for half a minute.
absl::Status UploadProfile(const std::string& address, const client::Security& security,
                           const std::string& json);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_APP_PROFILE_UPLOAD_H_
