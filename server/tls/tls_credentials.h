// TLS of the gRPC port, from files that may change while it serves.
#ifndef EVENPACK_SERVER_TLS_TLS_CREDENTIALS_H_
#define EVENPACK_SERVER_TLS_TLS_CREDENTIALS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/tls/certificate_files.h"
#include "server/tls/memory_file.h"

namespace grpc {
class ServerCredentials;
}

namespace evenpack {

// Whether a client must show a certificate where there are authorities to verify it.
// One that is shown is verified in any case.
enum class ClientCertificates { kRequire, kRequest };

// TLS 1.2 or later. One thread at a time looks; connections are made meanwhile.
class TlsCredentials {
 public:
  // INVALID_ARGUMENT as ReadCertificateFiles.
  static absl::StatusOr<std::unique_ptr<TlsCredentials>> Open(
      const CertificateFiles& files, ClientCertificates certificates);

  // Outlives a server that was started with it.
  const std::shared_ptr<grpc::ServerCredentials>& credentials() const {
    return credentials_;
  }

  // Reads the files; where they have changed, connections made about a second later and
  // from then on use them, and those that there are go on. Files that can't be served
  // change nothing, and are logged once for each change of them.
  void Look();

  // When the first certificate of those that are served runs out, in seconds since
  // 1970-01-01 UTC. Thread-safe.
  int64_t expiry() const { return expiry_; }

 private:
  TlsCredentials(CertificateFiles files, CertificateTexts texts);

  absl::Status Publish(const CertificateTexts& texts);
  void Connect(ClientCertificates certificates);

  const CertificateFiles files_;
  CertificateTexts texts_;
  std::atomic<int64_t> expiry_;
  // Of the last look that failed; empty where it didn't.
  std::string failure_;
  // What gRPC watches in place of the files: those it would read one by one, in the
  // midst of a change, and take a pair that doesn't match.
  MemoryFile identity_;
  MemoryFile client_ca_;
  std::shared_ptr<grpc::ServerCredentials> credentials_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_TLS_TLS_CREDENTIALS_H_
