#include "client/agent/agent_address.h"

#include "absl/strings/str_cat.h"
#include "client/cpp/local_address.h"
#include "server/core/document/invalid_field.h"
#include "server/service/field_path.h"
#include "server/web/listen_address.h"

namespace evenpack::agent {
namespace {

constexpr char kScheme[] = "unix:";
// What sockaddr_un holds, without the end.
constexpr size_t kMostPathBytes = 107;

}  // namespace

std::string SocketPath(const std::string& listen) {
  return listen.starts_with(kScheme) ? listen.substr(sizeof(kScheme) - 1) : "";
}

absl::Status CheckAgentAddress(const std::string& listen) {
  if (!listen.starts_with(kScheme)) {
    return Renamed("listen", ParseListenAddress(listen).status());
  }
  const std::string path = SocketPath(listen);
  if (path.starts_with('/') && path.size() <= kMostPathBytes) return absl::OkStatus();
  return InvalidField("listen", absl::StrCat("'", listen, "'"),
                      absl::StrCat("HOST:PORT or unix:PATH with a path from the root "
                                   "on of at most ",
                                   kMostPathBytes, " bytes"));
}

absl::Status CheckReachedLocally(const std::string& listen) {
  if (client::IsLocalAddress(listen)) return absl::OkStatus();
  return InvalidField("listen", absl::StrCat("'", listen, "'"),
                      "unix:PATH or a port of the loopback network; any other with "
                      "--insecure, since whoever reaches the agent is to the server "
                      "whoever the agent is");
}

}  // namespace evenpack::agent
