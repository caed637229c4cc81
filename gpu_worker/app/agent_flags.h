// The flags of evenpack-worker as a node's plan agent.
#ifndef EVENPACK_GPU_WORKER_APP_AGENT_FLAGS_H_
#define EVENPACK_GPU_WORKER_APP_AGENT_FLAGS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "gpu_worker/app/serve_flags.h"

// NOLINTNEXTLINE(readability-identifier-naming): CLI11 has named it.
namespace CLI {
class App;
}

namespace evenpack::worker {

// What the agent keeps of steps where --memory does not say.
inline constexpr uint64_t kAgentMemoryBytes = uint64_t{512} << 20;

// Documented by --help, which has their bounds too. It has --server, --http-listen,
// --memory and those of the log in common with --serve.
struct AgentFlags {
  bool agent = false;
  // HOST:PORT or unix:PATH.
  std::string listen;
  // Whoever reaches the agent may use it.
  bool insecure = false;
  uint64_t max_steps_ahead = 1024;
};

void AddAgentFlags(CLI::App& app, AgentFlags& flags);

// What single flags can't tell. INVALID_ARGUMENT naming the flag that is missing.
absl::Status CheckAgent(const AgentFlags& flags, const ServeOptions& shared);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_APP_AGENT_FLAGS_H_
