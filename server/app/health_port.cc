#include "server/app/health_port.h"

#include <grpcpp/health_check_service_interface.h>

#include <chrono>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/service/field_path.h"
#include "server/web/listen_address.h"
#include "server/web/listener.h"

namespace evenpack {

HealthPort::HealthPort() {
  grpc::EnableDefaultHealthCheckService(true);
  builder_ = std::make_unique<grpc::ServerBuilder>();
}

absl::Status HealthPort::Start(const std::string& listen) {
  const absl::StatusOr<ListenAddress> parsed = ParseListenAddress(listen);
  if (!parsed.ok()) return Renamed("health-listen", parsed.status());
  builder_->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  int port = 0;
  builder_->AddListeningPort(listen, grpc::InsecureServerCredentials(), &port);
  server_ = builder_->BuildAndStart();
  builder_.reset();
  if (server_ == nullptr || port == 0) {
    server_.reset();
    // gRPC doesn't say why.
    const absl::Status why = Listener::Open(*parsed).status();
    return absl::UnavailableError(
        why.ok() ? absl::StrCat("health-listen: gRPC can't serve on ", listen)
                 : std::string(Renamed("health-listen", why).message()));
  }
  address_ = absl::StrCat(listen.substr(0, listen.rfind(':')), ":", port);
  return absl::OkStatus();
}

void HealthPort::SetServing(const std::string& service, bool serving) {
  if (server_ == nullptr) return;
  server_->GetHealthCheckService()->SetServingStatus(service, serving);
}

void HealthPort::Close() {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
}

}  // namespace evenpack
