// The flags and environment variables that make a client's Security, the same in every
// program.
#ifndef EVENPACK_CLIENT_CPP_SECURITY_FLAGS_H_
#define EVENPACK_CLIENT_CPP_SECURITY_FLAGS_H_

#include <map>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cpp/security.h"

namespace evenpack::client {

struct SecurityFlag {
  const char* name;
  // What stands for the value in the help; "" for a switch.
  const char* placeholder;
  const char* help;
  // Stands for the flag where that isn't given.
  const char* variable;
  // As Validate() names it.
  const char* field;
  // What it sets; null for the switch.
  std::string Security::*value;
};

std::span<const SecurityFlag> SecurityFlags();

// The heading under which a program's help lists them.
inline constexpr char kSecurityGroup[] = "Security";

// Those of the variables that this process has, by name.
std::map<std::string, std::string> SecurityVariables();

// `flags`: what was given, by name; a switch has "true". `variables`: likewise; an
// empty one is none. `address`: of the server. INVALID_ARGUMENT, by the name of the
// flag or variable: as Validate(), CheckFiles(), and where EVENPACK_TLS is no 0 or 1.
absl::StatusOr<Security> ReadSecurity(
    const std::map<std::string, std::string>& flags,
    const std::map<std::string, std::string>& variables, absl::string_view address);

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_SECURITY_FLAGS_H_
