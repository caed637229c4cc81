#include "server/app/health_port.h"

#include <grpcpp/health_check_service_interface.h>

#include <chrono>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/service/field_path.h"
#include "server/service/without_compression.h"
#include "server/service/without_reflection.h"
#include "server/web/listen_address.h"

namespace evenpack {
namespace {

// Whoever probes asks at once, and then every so often.
constexpr int kFirstCallMs = 5'000;
constexpr int kIdleMs = 60'000;
// Of the descriptors that the server's other ports leave free: who fills these would
// else have a healthy server killed by its kubelet.
constexpr uint64_t kReservedDescriptors = 32;
// Nobody sends anything large here.
const GrpcPortOptions kOptions = {
    .reserved_descriptors = kReservedDescriptors,
    .unclaimed = {.at_once = 1 << 20, .each_call = 1 << 16, .together = 32 << 20}};

}  // namespace

HealthPort::HealthPort() {
  grpc::EnableDefaultHealthCheckService(true);
  builder_ = std::make_unique<grpc::ServerBuilder>();
  LeaveOutReflection(*builder_);
  LeaveOutCompression(*builder_);
}

absl::Status HealthPort::Start(const std::string& listen) {
  const absl::StatusOr<ListenAddress> parsed = ParseListenAddress(listen);
  if (!parsed.ok()) return Renamed("health-listen", parsed.status());
  absl::StatusOr<std::unique_ptr<GrpcPort>> port = GrpcPort::Open(*parsed, kOptions);
  if (!port.ok()) {
    return absl::UnavailableError(Renamed("health-listen", port.status()).message());
  }
  port_ = *std::move(port);
  port_->AddTo(*builder_, grpc::InsecureServerCredentials());
  builder_->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kFirstCallMs);
  builder_->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleMs);
  // gRPC makes no server without a queue but for services other than its own.
  threads_.AddTo(*builder_, 1);
  server_ = builder_->BuildAndStart();
  builder_.reset();
  if (server_ == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("health-listen: gRPC can't serve on ", listen));
  }
  threads_.Start();
  port_->Start();
  address_ = FormatAddress({parsed->host, port_->port()});
  return absl::OkStatus();
}

void HealthPort::SetServing(const std::string& service, bool serving) {
  if (server_ == nullptr) return;
  server_->GetHealthCheckService()->SetServingStatus(service, serving);
}

void HealthPort::Close() {
  if (server_ == nullptr) return;
  port_->Stop();
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  threads_.Stop();
  server_.reset();
}

}  // namespace evenpack
