#include "gpu_worker/app/serve_run.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/client.h"
#include "gpu_worker/metrics/worker_series.h"
#include "gpu_worker/service/worker_service.h"
#include "server/metrics/process_figures.h"
#include "server/runtime/log.h"
#include "server/web/http_server.h"
#include "server/web/operator_pages.h"

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

// Null without one. `server` outlives it.
absl::StatusOr<std::unique_ptr<HttpServer>> StartHttp(const WorkerServer& server,
                                                      const ServeOptions& options) {
  if (options.http_listen.empty()) return nullptr;
  const auto text = [&server, memory_bytes = options.memory_bytes] {
    return WorkerMetricsText(
        {EVENPACK_VERSION, server.status(), memory_bytes, ReadProcessFigures()});
  };
  // Both sockets are there before this port is.
  return HttpServer::Start(options.http_listen,
                           OperatorPages(text, [] { return true; }));
}

void Print(const std::string& line) {
  std::fputs(absl::StrCat(line, "\n").c_str(), stdout);
  std::fflush(stdout);
}

// The signal that ends the worker. A handler, since OpenBLAS has begun threads before
// main() could have had them leave signals alone.
class EndSignal {
 public:
  static absl::Status Expect() {
    descriptor = eventfd(0, EFD_CLOEXEC);
    struct sigaction action {};
    action.sa_handler = [](int signal) {
      const auto number = static_cast<uint64_t>(signal);
      // Of several the sum is read, and all mean the same.
      static_cast<void>(!write(descriptor, &number, sizeof(number)));
    };
    if (descriptor < 0 || sigaction(SIGTERM, &action, nullptr) != 0 ||
        sigaction(SIGINT, &action, nullptr) != 0) {
      return absl::ErrnoToStatus(errno, "signals can't be handled");
    }
    return absl::OkStatus();
  }
  static void Await() {
    uint64_t number = 0;
    while (read(descriptor, &number, sizeof(number)) < 0 && errno == EINTR) {
    }
  }

 private:
  static int descriptor;
};
int EndSignal::descriptor = -1;

}  // namespace

absl::Status Serve(const WorkerOptions& options) {
  // gRPC's locks: Debian's Abseil is built to look for cycles at each of them.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  if (absl::Status status = EndSignal::Expect(); !status.ok()) return status;
  StartLog(options.serve.log_level, options.serve.log_format);
  const absl::StatusOr<client::Client> client =
      client::Client::Connect({.address = options.serve.server});
  if (!client.ok()) return client.status();
  const absl::StatusOr<std::unique_ptr<WorkerServer>> server =
      WorkerServer::Start(*client, OptionsOf(options));
  if (!server.ok()) return server.status();
  const absl::StatusOr<std::unique_ptr<HttpServer>> http =
      StartHttp(**server, options.serve);
  if (!http.ok()) return http.status();
  if (*http != nullptr) Print(absl::StrCat("http listening on ", (*http)->address()));
  Print(absl::StrCat("serving at ", options.serve.socket_folder));
  EndSignal::Await();
  Log(LogLevel::kInfo, "ending");
  return absl::OkStatus();
}

}  // namespace evenpack::worker
