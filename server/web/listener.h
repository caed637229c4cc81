// A TCP socket that listens.
#ifndef EVENPACK_SERVER_WEB_LISTENER_H_
#define EVENPACK_SERVER_WEB_LISTENER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "server/runtime/file_descriptor.h"
#include "server/web/listen_address.h"

namespace evenpack {

class Listener {
 public:
  // Takes the first of the host's addresses that can be had. INVALID_ARGUMENT: the host
  // is unknown. FAILED_PRECONDITION: none can be had, such as where the port is taken.
  // The message names http-listen and the address.
  static absl::StatusOr<Listener> Open(const ListenAddress& wanted);
  // All of the host's addresses that can be had, at least one, with one port; where
  // that is any of the machine ("0.0.0.0", "*", "::"), those of IPv4 and IPv6, as far
  // as it has these. Errors as Open.
  static absl::StatusOr<std::vector<Listener>> OpenAll(const ListenAddress& wanted);

  // What it listens on: the host as a number, for any address that which was wanted,
  // and the port chosen where 0 was wanted.
  const ListenAddress& address() const { return address_; }
  // For poll.
  int fd() const { return socket_.get(); }
  // A connection that doesn't block; not valid, and errno set, where there is none.
  FileDescriptor Accept();

 private:
  Listener(FileDescriptor socket, ListenAddress address);

  FileDescriptor socket_;
  ListenAddress address_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_WEB_LISTENER_H_
