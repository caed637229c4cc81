// The flags of evenpack-worker that say how it reaches the packing server.
#ifndef EVENPACK_GPU_WORKER_APP_SECURITY_OPTIONS_H_
#define EVENPACK_GPU_WORKER_APP_SECURITY_OPTIONS_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "client/cpp/security.h"

// NOLINTNEXTLINE(readability-identifier-naming): CLI11 has named it.
namespace CLI {
class App;
}

namespace evenpack::worker {

// Those of client/cpp/security_flags.h.
void AddSecurityFlags(CLI::App& app);

// What `app` was given, else what `variables` of the environment say, for a server at
// `address`. INVALID_ARGUMENT naming the flag or the variable.
absl::StatusOr<client::Security> GivenSecurity(
    const CLI::App& app, const std::map<std::string, std::string>& variables,
    const std::string& address);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_APP_SECURITY_OPTIONS_H_
