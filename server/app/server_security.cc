#include "server/app/server_security.h"

#include <grpcpp/security/server_credentials.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/access/roles_file.h"
#include "server/runtime/file_text.h"
#include "server/runtime/log.h"
#include "server/service/field_path.h"
#include "server/web/listen_address.h"

namespace evenpack {
namespace {

constexpr std::chrono::seconds kLookInterval{1};

bool IsRequired(const ServerOptions& options) {
  return options.tls_client_certificates != "request";
}

absl::Status RefusedFlag(absl::string_view message) {
  return absl::InvalidArgumentError(message);
}

absl::Status CheckTogether(const ServerOptions& options) {
  if (options.tls_certificate.empty() != options.tls_key.empty()) {
    const bool key = options.tls_key.empty();
    return RefusedFlag(
        absl::StrCat(key ? "tls-key" : "tls-certificate",
                     ": none; accepted: --tls-certificate and --tls-key, "
                     "both or neither"));
  }
  if (!options.tls_client_ca.empty() && options.tls_certificate.empty()) {
    return RefusedFlag(
        "tls-client-ca: without TLS nobody shows a certificate; accepted: with "
        "--tls-certificate and --tls-key");
  }
  if (!options.tls_client_certificates.empty() && options.tls_client_ca.empty()) {
    return RefusedFlag(absl::StrCat(
        "tls-client-certificates: '", options.tls_client_certificates,
        "' is not accepted where there are no authorities to verify them, and "
        "everybody gets in; accepted: with --tls-client-ca"));
  }
  return absl::OkStatus();
}

CertificateFiles FilesOf(const ServerOptions& options) {
  return {options.tls_certificate, options.tls_key, options.tls_client_ca};
}

}  // namespace

absl::Status CheckSecurityFlags(const ServerOptions& options) {
  const absl::StatusOr<ListenAddress> address = ParseListenAddress(options.listen);
  if (!address.ok()) return Renamed("listen", address.status());
  if (absl::Status status = CheckTogether(options); !status.ok()) return status;
  const bool local = IsLoopback(address->host);
  if (!options.roles.empty() && options.channelz == "on" && !local) {
    return RefusedFlag(
        "channelz: 'on' is not accepted with --roles where others reach --listen, "
        "since it asks for no role; accepted: auto, off");
  }
  const bool secure = !options.tls_certificate.empty() && !options.roles.empty();
  if (secure || local || options.insecure) return absl::OkStatus();
  return RefusedFlag(absl::StrCat(
      "listen: '", options.listen,
      "' is reached by others than this machine, who could do everything; accepted: "
      "--tls-certificate, --tls-key and --roles, or a loopback address, or "
      "--insecure"));
}

ServerSecurity::ServerSecurity(const ServerOptions& options)
    : roles_path_(options.roles),
      reflection_(options.roles.empty() ||
                  (!options.tls_client_ca.empty() && IsRequired(options))) {}

absl::StatusOr<std::unique_ptr<ServerSecurity>> ServerSecurity::Open(
    const ServerOptions& options) {
  if (absl::Status status = CheckSecurityFlags(options); !status.ok()) return status;
  std::unique_ptr<ServerSecurity> security(new ServerSecurity(options));
  if (!options.tls_certificate.empty()) {
    auto tls = TlsCredentials::Open(FilesOf(options),
                                    IsRequired(options) ? ClientCertificates::kRequire
                                                        : ClientCertificates::kRequest);
    if (!tls.ok()) return tls.status();
    security->tls_ = *std::move(tls);
  }
  if (absl::Status status = security->ReadRoles(); !status.ok()) return status;
  return security;
}

std::shared_ptr<grpc::ServerCredentials> ServerSecurity::credentials() const {
  return tls_ == nullptr ? grpc::InsecureServerCredentials() : tls_->credentials();
}

std::optional<int64_t> ServerSecurity::certificate_expiry() const {
  if (tls_ == nullptr) return std::nullopt;
  return tls_->expiry();
}

void ServerSecurity::Watch(std::function<void()> roles_changed) {
  if (tls_ == nullptr && access_ == nullptr) return;
  roles_changed_ = std::move(roles_changed);
  watch_ = std::make_unique<RepeatedTask>(kLookInterval, [this] { Look(); });
}

void ServerSecurity::Look() {
  if (tls_ != nullptr) tls_->Look();
  if (access_ != nullptr) LookAtRoles();
}

absl::Status ServerSecurity::ReadRoles() {
  if (roles_path_.empty()) return absl::OkStatus();
  absl::StatusOr<std::string> text = ReadFileText("roles", roles_path_);
  if (!text.ok()) return text.status();
  // The beginning of a file that is just being written may be one, of fewer grants.
  const bool stands = std::exchange(roles_seen_, *text) == *text;
  if (access_ != nullptr && (!stands || *text == roles_text_)) return absl::OkStatus();
  absl::StatusOr<Roles> roles = ParseRoles(*text);
  if (!roles.ok()) return roles.status();
  roles_text_ = *std::move(text);
  if (access_ == nullptr) {
    access_ = std::make_unique<AccessControl>(*std::move(roles));
    return absl::OkStatus();
  }
  access_->SetRoles(*std::move(roles));
  Log(LogLevel::kInfo, "roles changed", {{"roles", roles_path_}});
  if (roles_changed_ != nullptr) roles_changed_();
  return absl::OkStatus();
}

void ServerSecurity::LookAtRoles() {
  const absl::Status status = ReadRoles();
  const std::string failure(status.message());
  if (failure == std::exchange(roles_failure_, failure) || failure.empty()) return;
  Log(LogLevel::kError, "roles kept", {{"because", failure}});
}

}  // namespace evenpack
