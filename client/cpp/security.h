// How a client makes sure whom it talks to, and says who it is.
//
//   ClientOptions options{.address = "evenpack.training.svc:7654"};
//   options.security.ca_file = "/etc/evenpack/ca.pem";
//   options.security.token_file = "/var/run/secrets/evenpack/token";
#ifndef EVENPACK_CLIENT_CPP_SECURITY_H_
#define EVENPACK_CLIENT_CPP_SECURITY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace evenpack::client {

// Files are PEM, but for the token's. They are read again when they change: new
// connections have what they hold then, and each call the token.
struct Security {
  // TLS, which a ca_file turns on too.
  bool tls = false;
  // The authorities that may have signed the server's certificate; empty: those of the
  // system.
  std::string ca_file = {};
  // Who this client is: its certificate, with those between it and the authority, and
  // its key. Both or neither.
  std::string certificate_file = {};
  std::string key_file = {};
  // The name that the server's certificate must have; empty: the address's host.
  std::string server_name = {};
  // A file with a token, which is sent with each call. Whitespace at its end is not
  // part of it. Without TLS only to this machine.
  std::string token_file = {};

  friend bool operator==(const Security&, const Security&) = default;
};

bool UsesTls(const Security& security);

// Whether the parts go together, for a server at `address`. Reads no file.
// INVALID_ARGUMENT naming the member, as security.key_file.
absl::Status Validate(const Security& security, absl::string_view address);

// Whether each file can be read and holds what it should, now. INVALID_ARGUMENT naming
// the member and the file, never what is in it.
absl::Status CheckFiles(const Security& security);

// What the file has, without whitespace at its end: 1 to 8192 visible characters of
// ASCII. INVALID_ARGUMENT naming security.token_file and the file.
absl::StatusOr<std::string> ReadToken(const std::string& file);

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_SECURITY_H_
