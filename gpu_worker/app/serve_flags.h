// The flags of evenpack-worker as a trainer's sidecar.
#ifndef EVENPACK_GPU_WORKER_APP_SERVE_FLAGS_H_
#define EVENPACK_GPU_WORKER_APP_SERVE_FLAGS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "server/runtime/log.h"

// NOLINTNEXTLINE(readability-identifier-naming): CLI11 has named it.
namespace CLI {
class App;
}

namespace evenpack::worker {

// Documented by --help, which has their bounds too. --agent has some of them in common.
struct ServeOptions {
  bool serve = false;
  // HOST:PORT of the packing server, or of several that share its jobs.
  std::string server;
  std::string socket_folder;
  // A user's number.
  uint32_t trainer_user = 0;
  uint64_t memory_bytes = uint64_t{8} << 30;
  uint64_t patience_seconds = 1800;
  // HOST:PORT; empty: no HTTP port.
  std::string http_listen;
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;
};

void AddServeFlags(CLI::App& app, ServeOptions& options);

// What single flags can't tell. INVALID_ARGUMENT naming the flag that is missing.
absl::Status CheckServe(const ServeOptions& options);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_APP_SERVE_FLAGS_H_
