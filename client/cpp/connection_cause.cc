#include "client/cpp/connection_cause.h"

#include "absl/strings/match.h"

namespace evenpack::client {
namespace {

struct Cause {
  // Part of the message, in any case.
  absl::string_view part;
  absl::string_view words;
  bool refusal;
};

constexpr absl::string_view kCertificate =
    "; the server's certificate is out of date, or signed by none of the authorities "
    "that are accepted";
constexpr absl::string_view kName =
    "; the server's certificate is for another name than the address's host, or than "
    "the server name that is given";
constexpr absl::string_view kPlaintext = "; the server speaks no TLS at this port";
// The files have been read and have what they should, each by itself.
constexpr absl::string_view kOwnFiles =
    "; the client can't show its certificate: its key may be of another certificate";
constexpr absl::string_view kClosed =
    "; the server closed the new connection: it may want TLS, a client certificate, or "
    "another one than it was given, or take no more connections, which its log says";
constexpr absl::string_view kNoAnswer =
    "; nothing answered within 5 s: a firewall may drop it on the way, or nobody has "
    "the address";
// What begins every message about a connection that could not be made.
constexpr absl::string_view kNotConnected = "failed to connect to all addresses";

constexpr Cause kCauses[] = {
    {"certificate verify failed", kCertificate, true},
    {"CERTIFICATE_VERIFY_FAILED", kCertificate, true},
    {"Hostname Verification Check failed", kName, true},
    {"wrong version number", kPlaintext, true},
    {"WRONG_VERSION_NUMBER", kPlaintext, true},
    {"Failed to create security handshaker", kOwnFiles, true},
    {"Socket closed", kClosed, false},
    {"Handshake read failed", kClosed, false},
    {"tcp handshaker shutdown", kNoAnswer, false},
};

const Cause* FindCause(absl::string_view message) {
  if (!absl::StrContains(message, kNotConnected)) return nullptr;
  for (const Cause& cause : kCauses) {
    if (absl::StrContains(message, cause.part)) return &cause;
  }
  return nullptr;
}

}  // namespace

bool IsHandshakeRefusal(absl::string_view message) {
  const Cause* const cause = FindCause(message);
  return cause != nullptr && cause->refusal;
}

absl::string_view ConnectionCause(absl::string_view message) {
  const Cause* const cause = FindCause(message);
  const bool says_it = cause == nullptr || absl::StrContains(message, cause->words);
  return says_it ? "" : cause->words;
}

}  // namespace evenpack::client
