#include "gpu_worker/app/serve_run.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/client.h"
#include "gpu_worker/service/worker_service.h"
#include "server/runtime/log.h"

namespace evenpack::worker {
namespace {

// Peers that are there answer sooner.
constexpr std::chrono::milliseconds kMostToConnect = std::chrono::minutes(1);

WorkerServerOptions OptionsOf(const WorkerOptions& options) {
  const ServeOptions& serve = options.serve;
  WorkerServerOptions of;
  of.socket_folder = serve.socket_folder;
  of.trainer_user = serve.trainer_user;
  of.sidecar.group.host = options.host;
  const std::chrono::seconds timeout(options.group_timeout_seconds);
  of.sidecar.group.exchange_timeout = timeout;
  of.sidecar.group.connect_timeout =
      std::min<std::chrono::milliseconds>(timeout, kMostToConnect);
  of.sidecar.patience = std::chrono::seconds(serve.patience_seconds);
  of.sidecar.threads = options.threads;
  of.sidecar.memory_bytes = serve.memory_bytes;
  return of;
}

sigset_t BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

}  // namespace

absl::Status Serve(const WorkerOptions& options) {
  // gRPC's locks: Debian's Abseil is built to look for cycles at each of them.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  const sigset_t signals = BlockSignals();
  StartLog(options.serve.log_level, options.serve.log_format);
  const absl::StatusOr<client::Client> client =
      client::Client::Connect({.address = options.serve.server});
  if (!client.ok()) return client.status();
  const absl::StatusOr<std::unique_ptr<WorkerServer>> server =
      WorkerServer::Start(*client, OptionsOf(options));
  if (!server.ok()) return server.status();
  std::fputs(absl::StrCat("serving at ", options.serve.socket_folder, "\n").c_str(),
             stdout);
  std::fflush(stdout);
  int signal = 0;
  sigwait(&signals, &signal);
  Log(LogLevel::kInfo, "ending",
      {{"signal", signal == SIGTERM ? "SIGTERM" : "SIGINT"}});
  return absl::OkStatus();
}

}  // namespace evenpack::worker
