// Connections whose peers have left, while gRPC takes them and their calls down.
//
// gRPC 1.51 begins all calls that it reads, and takes down those of a peer that has
// left in turn: a peer that connects, calls and leaves again and again is faster
// (docs/adr/0067).
#ifndef EVENPACK_SERVER_APP_DEPARTED_PEERS_H_
#define EVENPACK_SERVER_APP_DEPARTED_PEERS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/app/unclaimed_bytes.h"
#include "server/runtime/file_descriptor.h"

namespace evenpack {

// Not thread-safe; calls may be counted meanwhile.
class DepartedPeers {
 public:
  // Errors are the system's, which has no descriptor or memory for it.
  static absl::StatusOr<DepartedPeers> Create();

  // A TCP connection, and its calls. Its owner may close `socket` at any time, and the
  // number may come again.
  void Watch(int socket, std::shared_ptr<const CallCounts> calls);

  // Connections of peers that have left which are not closed, calls of such that go on,
  // and those that may come yet of what they sent, together.
  int64_t Held();

 private:
  struct Watched {
    // The system's number of the socket, which never comes again.
    uint64_t cookie;
    std::shared_ptr<const CallCounts> calls;
  };
  struct Departed {
    int socket;
    Watched watched;
    // Bytes that the connection brought.
    uint64_t received;
  };

  explicit DepartedPeers(FileDescriptor epoll) : epoll_(std::move(epoll)) {}

  void TakeEvents();
  static int64_t CallsOf(const Departed& departed);

  FileDescriptor epoll_;
  std::map<int, Watched> watched_;
  std::vector<Departed> departed_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_APP_DEPARTED_PEERS_H_
