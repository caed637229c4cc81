#include "client/cpp/security_flags.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::client {
namespace {

using Texts = std::map<std::string, std::string>;

constexpr SecurityFlag kFlags[] = {
    {"--tls", "", "TLS, with the authorities of the system ($EVENPACK_TLS=1)",
     "EVENPACK_TLS", "security.tls", nullptr},
    {"--tls-ca", "FILE",
     "TLS, with the authorities of this PEM file ($EVENPACK_TLS_CA)", "EVENPACK_TLS_CA",
     "security.ca_file", &Security::ca_file},
    {"--tls-certificate", "FILE",
     "the client's own certificate, PEM ($EVENPACK_TLS_CERTIFICATE)",
     "EVENPACK_TLS_CERTIFICATE", "security.certificate_file",
     &Security::certificate_file},
    {"--tls-key", "FILE", "its key, PEM ($EVENPACK_TLS_KEY)", "EVENPACK_TLS_KEY",
     "security.key_file", &Security::key_file},
    {"--tls-server-name", "NAME",
     "the name in the server's certificate ($EVENPACK_TLS_SERVER_NAME, else the "
     "address's host)",
     "EVENPACK_TLS_SERVER_NAME", "security.server_name", &Security::server_name},
    {"--token-file", "FILE",
     "a token that says who the client is, over TLS or to this machine "
     "($EVENPACK_TOKEN_FILE)",
     "EVENPACK_TOKEN_FILE", "security.token_file", &Security::token_file},
};

// What was given for a flag, and under which name; no name where nothing was.
struct Given {
  std::string name;
  std::string text;
};

Given FindGiven(const SecurityFlag& flag, const Texts& flags, const Texts& variables) {
  if (const auto found = flags.find(flag.name); found != flags.end()) {
    return {flag.name, found->second};
  }
  const auto found = variables.find(flag.variable);
  if (found == variables.end() || found->second.empty()) return {};
  return {flag.variable, found->second};
}

absl::Status Set(const Given& given, const SecurityFlag& flag, Security& security) {
  if (given.name.empty()) return absl::OkStatus();
  if (flag.value != nullptr) {
    security.*flag.value = given.text;
    if (!given.text.empty()) return absl::OkStatus();
    return InvalidField(given.name, "''", flag.placeholder);
  }
  security.tls = given.text == "1" || given.text == "true";
  if (security.tls || given.text == "0" || given.text == "false") {
    return absl::OkStatus();
  }
  return InvalidField(given.name, absl::StrCat("'", given.text, "'"), "0 or 1");
}

// `status`, which names a member of Security, by what whoever runs the program wrote.
absl::Status AsGiven(const absl::Status& status, const Texts& flags,
                     const Texts& variables) {
  const std::string field = RefusedField(status);
  for (const SecurityFlag& flag : kFlags) {
    if (field != flag.field) continue;
    const Given given = FindGiven(flag, flags, variables);
    absl::string_view rest = status.message();
    absl::ConsumePrefix(&rest, field);
    return absl::InvalidArgumentError(
        absl::StrCat(given.name.empty() ? flag.name : given.name, rest));
  }
  return status;
}

}  // namespace

std::span<const SecurityFlag> SecurityFlags() { return kFlags; }

Texts SecurityVariables() {
  Texts variables;
  for (const SecurityFlag& flag : kFlags) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here sets variables.
    const char* const text = std::getenv(flag.variable);
    if (text != nullptr) variables[flag.variable] = text;
  }
  return variables;
}

absl::StatusOr<Security> ReadSecurity(const Texts& flags, const Texts& variables,
                                      absl::string_view address) {
  Security security;
  for (const SecurityFlag& flag : kFlags) {
    const Given given = FindGiven(flag, flags, variables);
    if (absl::Status status = Set(given, flag, security); !status.ok()) return status;
  }
  absl::Status status = Validate(security, address);
  if (status.ok()) status = CheckFiles(security);
  if (!status.ok()) return AsGiven(status, flags, variables);
  return security;
}

}  // namespace evenpack::client
