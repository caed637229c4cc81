#include "gpu_worker/attach/unix_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::worker {
namespace {

absl::StatusOr<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return InvalidField("socket path", path,
                        absl::StrCat("1 to ", sizeof(address.sun_path) - 1, " bytes"));
  }
  std::copy(path.begin(), path.end(), address.sun_path);
  return address;
}

absl::Status Failed(absl::string_view what, const std::string& path) {
  return absl::ErrnoToStatus(
      errno, absl::StrCat(what, " at ", path, " failed: ", std::strerror(errno)));
}

// Whether a process listens there; what isn't a socket is none of ours to remove.
absl::Status RemoveStale(const std::string& path) {
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0) return absl::OkStatus();
  if (!S_ISSOCK(found.st_mode)) {
    return absl::AlreadyExistsError(
        absl::StrCat(path, " is not a socket; accepted: a path that is free"));
  }
  if (ConnectTo(path).ok()) {
    return absl::AlreadyExistsError(absl::StrCat(
        "a process listens at ", path, "; accepted: a path of each worker's own"));
  }
  return unlink(path.c_str()) == 0 ? absl::OkStatus() : Failed("removing", path);
}

OwnedDescriptor NewSocket() {
  return OwnedDescriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

}  // namespace

std::string AttachSocketIn(const std::string& folder) {
  return absl::StrCat(folder, "/attach.sock");
}
std::string ServiceSocketIn(const std::string& folder) {
  return absl::StrCat(folder, "/worker.sock");
}

absl::StatusOr<OwnedDescriptor> ListenAt(const std::string& path, mode_t mode) {
  const absl::StatusOr<sockaddr_un> address = AddressOf(path);
  if (!address.ok()) return address.status();
  if (absl::Status status = RemoveStale(path); !status.ok()) return status;
  OwnedDescriptor listening = NewSocket();
  if (bind(listening.get(), reinterpret_cast<const sockaddr*>(&*address),
           sizeof(*address)) != 0 ||
      chmod(path.c_str(), mode) != 0 || listen(listening.get(), 16) != 0) {
    return Failed("listening", path);
  }
  return listening;
}

absl::StatusOr<OwnedDescriptor> ConnectTo(const std::string& path) {
  const absl::StatusOr<sockaddr_un> address = AddressOf(path);
  if (!address.ok()) return address.status();
  OwnedDescriptor connection = NewSocket();
  if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&*address),
              sizeof(*address)) != 0) {
    return absl::UnavailableError(
        absl::StrCat("no worker listens at ", path, ": ", std::strerror(errno)));
  }
  return connection;
}

void HangUp(int connection) { shutdown(connection, SHUT_RDWR); }

}  // namespace evenpack::worker
