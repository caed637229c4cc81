#include "server/tls/tls_credentials.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <utility>

#include "server/runtime/log.h"
#include "server/tls/ssl_context.h"

namespace evenpack {
namespace {

// How often gRPC looks at what was published; it takes no less.
constexpr unsigned kRefreshSeconds = 1;

void LogExpired(const CertificateFiles& files, const CertificateTexts& texts) {
  if (!HasExpired(texts)) return;
  Log(LogLevel::kWarning, "certificate out of date",
      {{"tls-certificate", files.certificate}});
}

}  // namespace

absl::StatusOr<std::unique_ptr<TlsCredentials>> TlsCredentials::Open(
    const CertificateFiles& files, ClientCertificates certificates) {
  absl::StatusOr<CertificateTexts> texts = ReadCertificateFiles(files);
  if (!texts.ok()) return texts.status();
  std::unique_ptr<TlsCredentials> opened(new TlsCredentials(files, *std::move(texts)));
  if (absl::Status status = opened->Publish(opened->texts_); !status.ok())
    return status;
  opened->Connect(certificates);
  LogExpired(files, opened->texts_);
  return opened;
}

TlsCredentials::TlsCredentials(CertificateFiles files, CertificateTexts texts)
    : files_(std::move(files)),
      texts_(std::move(texts)),
      expiry_(ExpiryOf(texts_).value_or(0)) {}

absl::Status TlsCredentials::Publish(const CertificateTexts& texts) {
  absl::Status status = identity_.Replace(texts.identity);
  if (status.ok() && !files_.client_ca.empty()) {
    status = client_ca_.Replace(texts.client_ca);
  }
  return status;
}

void TlsCredentials::Connect(ClientCertificates certificates) {
  namespace tls = grpc::experimental;
  LinkSslContexts();
  tls::TlsServerCredentialsOptions options(
      std::make_shared<tls::FileWatcherCertificateProvider>(
          identity_.path(), identity_.path(), client_ca_.path(), kRefreshSeconds));
  options.watch_identity_key_cert_pairs();
  options.set_check_call_host(false);
  if (!files_.client_ca.empty()) {
    options.watch_root_certs();
    options.set_cert_request_type(
        certificates == ClientCertificates::kRequire
            ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
            : GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  credentials_ = tls::TlsServerCredentials(options);
}

void TlsCredentials::Look() {
  absl::StatusOr<CertificateTexts> texts = ReadCertificateFiles(files_);
  absl::Status status = texts.status();
  if (status.ok()) {
    failure_.clear();
    if (*texts == texts_) return;
    status = Publish(*texts);
  }
  if (!status.ok()) {
    const std::string failure(status.message());
    if (failure == std::exchange(failure_, failure)) return;
    return Log(LogLevel::kError, "certificate kept", {{"because", failure}});
  }
  texts_ = *std::move(texts);
  expiry_ = ExpiryOf(texts_).value_or(0);
  Log(LogLevel::kInfo, "certificate changed",
      {{"tls-certificate", files_.certificate}});
  LogExpired(files_, texts_);
}

}  // namespace evenpack
