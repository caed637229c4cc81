#include "gpu_worker/service/worker_service.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "evenpack/v1/worker_service.grpc.pb.h"
#include "gpu_worker/attach/worker_sockets.h"
#include "gpu_worker/service/session_messages.h"
#include "server/runtime/unix_socket.h"
#include "server/service/status_conversion.h"

namespace evenpack::worker {
namespace {

constexpr char kServiceName[] = "evenpack.v1.WorkerService";

// One trainer, and who looks after the worker: a thread for each call does.
class Handlers final : public v1::WorkerService::Service {
 public:
  explicit Handlers(Sidecar& sidecar) : sidecar_(sidecar) {}

  grpc::Status OpenSession(grpc::ServerContext*, const v1::OpenSessionRequest* request,
                           v1::OpenSessionResponse* response) override {
    const absl::StatusOr<SessionRequest> asked = FromMessage(*request);
    if (!asked.ok()) return ToGrpc(asked.status());
    const absl::StatusOr<OpenedSession> opened =
        sidecar_.OpenSession(request->token(), *asked);
    if (!opened.ok()) return ToGrpc(opened.status());
    ToMessage(*opened, asked->shape, *response);
    return grpc::Status::OK;
  }

  grpc::Status CloseSession(grpc::ServerContext*,
                            const v1::CloseSessionRequest* request,
                            v1::CloseSessionResponse*) override {
    return ToGrpc(sidecar_.CloseSession(request->token()));
  }

  grpc::Status GetWorker(grpc::ServerContext*, const v1::GetWorkerRequest*,
                         v1::GetWorkerResponse* response) override {
    response->set_version(EVENPACK_VERSION);
    response->set_memory_bytes(sidecar_.options().memory_bytes);
    ToMessage(sidecar_.status(), *response);
    return grpc::Status::OK;
  }

 private:
  Sidecar& sidecar_;
};

}  // namespace

class WorkerServer::Rooms {
 public:
  Rooms(const client::Client& client, const WorkerServerOptions& options)
      : sidecar_(client, options.sidecar), handlers_(sidecar_) {}
  ~Rooms() {
    // First, so that calls under way end.
    listener_.reset();
    if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
  }
  Rooms(const Rooms&) = delete;
  Rooms& operator=(const Rooms&) = delete;

  absl::Status Serve(const WorkerServerOptions& options) {
    const std::string path = ServiceSocketIn(options.socket_folder);
    // gRPC would take the path from a worker that lives.
    if (const auto free = ListenAt(path, 0600); !free.ok()) return free.status();
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    builder.AddListeningPort(absl::StrCat("unix:", path),
                             grpc::InsecureServerCredentials());
    builder.RegisterService(&handlers_);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                               static_cast<int>(options.least_ping.count()));
    server_ = builder.BuildAndStart();
    if (server_ == nullptr ||
        chmod(path.c_str(), options.trainer_user == geteuid() ? 0600 : 0666) != 0) {
      return absl::UnavailableError(absl::StrCat("no service can be had at ", path));
    }
    server_->GetHealthCheckService()->SetServingStatus(kServiceName, true);
    absl::StatusOr<std::unique_ptr<AttachListener>> listener = AttachListener::Start(
        {AttachSocketIn(options.socket_folder), options.trainer_user,
         options.sidecar.form->ArenasOf(options.sidecar.memory_bytes)},
        sidecar_);
    if (!listener.ok()) return listener.status();
    listener_ = *std::move(listener);
    return absl::OkStatus();
  }

  SidecarStatus status() const { return sidecar_.status(); }

 private:
  Sidecar sidecar_;
  Handlers handlers_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<AttachListener> listener_;
};

WorkerServer::WorkerServer(std::unique_ptr<Rooms> rooms) : rooms_(std::move(rooms)) {}
WorkerServer::~WorkerServer() = default;

SidecarStatus WorkerServer::status() const { return rooms_->status(); }

absl::StatusOr<std::unique_ptr<WorkerServer>> WorkerServer::Start(
    const client::Client& client, const WorkerServerOptions& options) {
  auto rooms = std::make_unique<Rooms>(client, options);
  if (absl::Status status = rooms->Serve(options); !status.ok()) return status;
  return std::unique_ptr<WorkerServer>(new WorkerServer(std::move(rooms)));
}

}  // namespace evenpack::worker
