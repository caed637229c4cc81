// Who is let in: TLS, roles, and the rule that a port which others can reach has both.
#ifndef EVENPACK_SERVER_APP_SERVER_SECURITY_H_
#define EVENPACK_SERVER_APP_SERVER_SECURITY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/access/access_control.h"
#include "server/app/server_options.h"
#include "server/runtime/repeated_task.h"
#include "server/tls/tls_credentials.h"

namespace evenpack {

// INVALID_ARGUMENT naming the flags: some that need each other and are not all there, a
// gRPC port that others than this machine reach without TLS and roles, unless it is
// insecure by the flag of that name, channelz where nobody can be told apart.
absl::Status CheckSecurityFlags(const ServerOptions& options);

class ServerSecurity {
 public:
  // Reads the files. INVALID_ARGUMENT names the flag: as CheckSecurityFlags, or a file
  // that can't be used.
  static absl::StatusOr<std::unique_ptr<ServerSecurity>> Open(
      const ServerOptions& options);

  // Null without roles.
  AccessControl* access() { return access_.get(); }
  const AccessControl* access() const { return access_.get(); }
  // Of the certificate in use, in seconds since 1970-01-01 UTC; none without TLS.
  // Thread-safe.
  std::optional<int64_t> certificate_expiry() const;
  // For the gRPC port.
  std::shared_ptr<grpc::ServerCredentials> credentials() const;
  // Whether gRPC's reflection, which asks for no role, may be there: whoever gets that
  // far has shown who it is, or everyone may do everything.
  bool admits_reflection() const { return reflection_; }

  // Looks at the files every second from now on; `roles_changed` is called, on another
  // thread, when decisions are by other roles than before. Once.
  void Watch(std::function<void()> roles_changed);
  // None is called from then on.
  void StopWatching() { watch_.reset(); }

  // Looks at the files now; not while they are watched.
  void Look();

 private:
  explicit ServerSecurity(const ServerOptions& options);

  absl::Status ReadRoles();
  void LookAtRoles();

  const std::string roles_path_;
  const bool reflection_;
  std::unique_ptr<TlsCredentials> tls_;
  std::unique_ptr<AccessControl> access_;
  std::string roles_text_;
  // Of the last look.
  std::string roles_seen_;
  // Of the last look that failed; empty where it didn't.
  std::string roles_failure_;
  std::function<void()> roles_changed_;
  std::unique_ptr<RepeatedTask> watch_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_APP_SERVER_SECURITY_H_
