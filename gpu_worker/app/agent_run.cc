#include "gpu_worker/app/agent_run.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "client/agent/plan_agent.h"
#include "gpu_worker/app/end_signal.h"
#include "server/runtime/log.h"
#include "server/runtime/unique_name.h"

namespace evenpack::worker {
namespace {

void AnnouncePort(const std::string& kind, const std::string& address) {
  if (address.empty()) return;
  std::fputs(absl::StrCat(kind, " listening on ", address, "\n").c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace

absl::Status RunAgent(const WorkerOptions& options) {
  // gRPC's locks: Debian's Abseil is built to look for cycles at each of them.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  if (absl::Status status = EndSignal::Expect(); !status.ok()) return status;
  StartLog(options.serve.log_level, options.serve.log_format);
  agent::PlanAgentOptions of;
  of.server = options.serve.server;
  of.security = options.security;
  of.listen = options.agent.listen;
  of.insecure = options.agent.insecure;
  of.http_listen = options.serve.http_listen;
  of.name = UniqueName("agent");
  of.version = EVENPACK_VERSION;
  of.steps = {options.agent.max_steps_ahead, options.serve.memory_bytes};
  const auto started = agent::PlanAgent::Start(of);
  if (!started.ok()) return started.status();
  AnnouncePort("grpc", (*started)->grpc_address());
  AnnouncePort("http", (*started)->http_address());
  EndSignal::Await();
  Log(LogLevel::kInfo, "draining");
  const bool closed = (*started)->Drain();
  Log(LogLevel::kInfo, "stopped");
  // Nothing is lost with connections that hang, and their end is not waited for.
  if (!closed) std::_Exit(0);
  return absl::OkStatus();
}

}  // namespace evenpack::worker
