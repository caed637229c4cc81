#include "gpu_worker/app/serve_run.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/client.h"
#include "client/cpp/server_addresses.h"
#include "gpu_worker/app/end_signal.h"
#include "gpu_worker/app/retry_log.h"
#include "gpu_worker/app/serve_end.h"
#include "gpu_worker/metrics/worker_series.h"
#include "gpu_worker/service/worker_service.h"
#include "gpu_worker/sidecar/cuda_sidecar_form.h"
#include "gpu_worker/sidecar/host_sidecar_form.h"
#include "server/metrics/process_figures.h"
#include "server/runtime/log.h"
#include "server/web/http_server.h"
#include "server/web/operator_pages.h"

namespace evenpack::worker {
namespace {

// Peers that are there answer sooner.
constexpr std::chrono::milliseconds kMostToConnect = std::chrono::minutes(1);
// A trainer reads in that time what its passes failed with.
constexpr std::chrono::seconds kBetweenLooks{1};

using Form = std::shared_ptr<const SidecarForm>;

absl::StatusOr<Form> FormOf(const WorkerOptions& options) {
  const std::chrono::seconds timeout(options.group_timeout_seconds);
  const auto connect = std::min<std::chrono::milliseconds>(timeout, kMostToConnect);
  if (!options.cuda_device.has_value()) {
    GlooOptions group;
    group.host = options.host;
    group.exchange_timeout = timeout;
    group.connect_timeout = connect;
    return std::make_shared<HostSidecarForm>(options.threads, std::move(group));
  }
  CudaFormOptions of;
  of.rank.device = *options.cuda_device;
  of.group.exchange_timeout = timeout;
  of.group.connect_timeout = connect;
  return CudaSidecarForm::Open(of);
}

WorkerServerOptions OptionsOf(const WorkerOptions& options, Form form) {
  const ServeOptions& serve = options.serve;
  WorkerServerOptions of;
  of.socket_folder = serve.socket_folder;
  of.trainer_user = serve.trainer_user;
  of.sidecar.form = std::move(form);
  of.sidecar.patience = std::chrono::seconds(serve.patience_seconds);
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

}  // namespace

absl::Status Serve(const WorkerOptions& options) {
  // gRPC's locks: Debian's Abseil is built to look for cycles at each of them.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  if (absl::Status status = EndSignal::Expect(); !status.ok()) return status;
  StartLog(options.serve.log_level, options.serve.log_format);
  const auto addresses = client::ServerAddresses("--server", options.serve.server);
  if (!addresses.ok()) return addresses.status();
  const absl::StatusOr<client::Client> client =
      client::Client::Connect({.address = options.serve.server,
                               .security = options.security,
                               .on_retry = LogRetries(options.serve.server)});
  if (!client.ok()) return client.status();
  const absl::StatusOr<Form> form = FormOf(options);
  if (!form.ok()) return form.status();
  const absl::StatusOr<std::unique_ptr<WorkerServer>> server =
      WorkerServer::Start(*client, OptionsOf(options, *form));
  if (!server.ok()) return server.status();
  const absl::StatusOr<std::unique_ptr<HttpServer>> http =
      StartHttp(**server, options.serve);
  if (!http.ok()) return http.status();
  if (*http != nullptr) Print(absl::StrCat("http listening on ", (*http)->address()));
  Print(absl::StrCat("serving at ", options.serve.socket_folder));
  AwaitEnd(**form, kBetweenLooks);
  return absl::OkStatus();
}

}  // namespace evenpack::worker
