#include "server/runtime/unix_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace evenpack {
namespace {

absl::StatusOr<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("socket path: ", path, " is not accepted; accepted: 1 to ",
                     sizeof(address.sun_path) - 1, " bytes"));
  }
  std::copy(path.begin(), path.end(), address.sun_path);
  return address;
}

absl::Status Failed(absl::string_view what, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat(what, " at ", path, " failed"));
}

absl::StatusOr<FileDescriptor> NewSocket() {
  FileDescriptor made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (made.valid()) return made;
  return absl::ErrnoToStatus(errno, "a socket can't be had");
}

// 0, or why there is no connection.
int Connect(const FileDescriptor& connection, const sockaddr_un& address) {
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  return connect(connection.get(), generic, sizeof(address)) == 0 ? 0 : errno;
}

absl::Status Taken(absl::string_view how) {
  return absl::AlreadyExistsError(absl::StrCat(how, "; accepted: a path of its own"));
}

// Unless a process listens there, or may; what isn't a socket is none of ours to
// remove.
absl::Status RemoveStale(const std::string& path, const sockaddr_un& address) {
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0) return absl::OkStatus();
  if (!S_ISSOCK(found.st_mode)) {
    return Taken(absl::StrCat(path, " is not a socket"));
  }
  const absl::StatusOr<FileDescriptor> asking = NewSocket();
  if (!asking.ok()) return asking.status();
  const int error = Connect(*asking, address);
  if (error == 0) return Taken(absl::StrCat("a process listens at ", path));
  // Of another user's, say, nothing is known but that it is there.
  if (error != ECONNREFUSED && error != ENOENT) {
    return Taken(absl::StrCat("whether a process listens at ", path,
                              " is not known: ", std::strerror(error)));
  }
  return unlink(path.c_str()) == 0 || errno == ENOENT ? absl::OkStatus()
                                                      : Failed("removing", path);
}

}  // namespace

absl::StatusOr<FileDescriptor> ListenAt(const std::string& path, mode_t mode) {
  const absl::StatusOr<sockaddr_un> address = AddressOf(path);
  if (!address.ok()) return address.status();
  if (absl::Status status = RemoveStale(path, *address); !status.ok()) return status;
  absl::StatusOr<FileDescriptor> listening = NewSocket();
  if (!listening.ok()) return listening.status();
  if (bind(listening->get(), reinterpret_cast<const sockaddr*>(&*address),
           sizeof(*address)) != 0 ||
      chmod(path.c_str(), mode) != 0 || listen(listening->get(), SOMAXCONN) != 0) {
    return Failed("listening", path);
  }
  return listening;
}

absl::StatusOr<FileDescriptor> ConnectTo(const std::string& path) {
  const absl::StatusOr<sockaddr_un> address = AddressOf(path);
  if (!address.ok()) return address.status();
  absl::StatusOr<FileDescriptor> connection = NewSocket();
  if (!connection.ok()) return connection.status();
  if (const int error = Connect(*connection, *address); error != 0) {
    return absl::UnavailableError(
        absl::StrCat("no process listens at ", path, ": ", std::strerror(error)));
  }
  return connection;
}

void HangUp(int connection) { shutdown(connection, SHUT_RDWR); }

}  // namespace evenpack
