// The port of gRPC: accepts its connections in its place.
//
// gRPC 1.51 stops listening for good when it is once refused a descriptor
// (CVE-2023-4785). Here a connection that takes one of the last is closed at once: what
// is served goes on, the HTTP port and the store have those that are left, and clients
// that try again get in when others have gone (docs/adr/0060). While many calls of
// peers that have left are to be taken down, connections wait (docs/adr/0067).
#ifndef EVENPACK_SERVER_APP_GRPC_PORT_H_
#define EVENPACK_SERVER_APP_GRPC_PORT_H_

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/app/accept_gate.h"
#include "server/app/departed_peers.h"
#include "server/app/flood_guard.h"
#include "server/app/look_pace.h"
#include "server/app/unclaimed_bytes.h"
#include "server/runtime/file_descriptor.h"
#include "server/runtime/log_budget.h"
#include "server/runtime/mutex.h"
#include "server/runtime/repeated_task.h"
#include "server/service/connection_hand_over.h"
#include "server/web/accept_loop.h"
#include "server/web/listen_address.h"
#include "server/web/listener.h"

namespace evenpack {

struct GrpcPortOptions {
  // As AcceptLoopOptions'.
  uint64_t reserved_descriptors = 128;
  // What a peer may leave unacknowledged before its connection counts as broken.
  std::chrono::milliseconds peer_timeout{20'000};
  // What connections may send of which no call comes, and when they are looked at.
  UnclaimedBytesOptions unclaimed = {};
  LookPaceOptions look = {};
  AcceptGateOptions gate = {};
};

// Not thread-safe, but for Cut and CallsOf.
class GrpcPort {
 public:
  // Listens at all of the host's addresses that can be had; a wildcard is that of IPv6
  // too. Nothing is accepted yet. Errors as Listener::OpenAll.
  static absl::StatusOr<std::unique_ptr<GrpcPort>> Open(const ListenAddress& wanted,
                                                        const GrpcPortOptions& options);
  ~GrpcPort();

  // The number that a name or another way to write it stands for, until Stop.
  const std::string& host() const { return listeners_.front().address().host; }
  uint16_t port() const { return listeners_.front().address().port; }

  // Before the server is built: it will take the connections, whose calls are counted.
  // Interceptors of others are lost. Outlives the server.
  void AddTo(grpc::ServerBuilder& builder,
             std::shared_ptr<grpc::ServerCredentials> credentials);
  // After that: accepts connections.
  void Start();
  // Accepts none any more, and closes the port. Before the server shuts down. May be
  // called again.
  void Stop();

  // Ends the connection of a peer, as grpc::ServerContextBase::peer names it; none
  // where it is gone. `because` is for the log.
  void Cut(const std::string& peer, const char* because);

  // Where the connection's calls are to be counted (server/app/call_counting.h); one
  // that sends what they don't claim is cut. Null where the peer is gone.
  std::shared_ptr<CallCounts> CallsOf(const std::string& peer);

 private:
  GrpcPort(std::vector<Listener> listeners, DepartedPeers departed,
           const GrpcPortOptions& options);
  struct Connection {
    int fd;
    std::shared_ptr<CallCounts> calls;
    UnclaimedBytes unclaimed;
    // As at the last look.
    int64_t open_calls = 0;
    bool busy = true;
  };

  void LookIfDue();
  void LookAtConnections(bool all);
  // Of those that are remembered, whose calls never come: the heaviest first.
  std::vector<std::pair<std::string, const char*>> ToBeCut() EVENPACK_REQUIRES(mutex_);
  void Forget(const std::string& peer) EVENPACK_REQUIRES(mutex_);
  // How long none is to be accepted.
  std::chrono::milliseconds Pause();
  void Take(FileDescriptor connection);
  std::shared_ptr<CallCounts> Remember(int fd);

  const GrpcPortOptions options_;
  std::vector<Listener> listeners_;
  std::optional<ConnectionHandOver> hand_over_;
  FloodGuard flood_guard_;
  // Looks have a thread of their own: gRPC begins to read a connection in the one that
  // hands it over, and reads on as long as there is more.
  std::optional<LookPace> pace_;
  std::optional<RepeatedTask> looks_;
  // Both are used by the loop's thread alone.
  AcceptGate gate_;
  DepartedPeers departed_;
  // Of lines about connections that wait.
  LogBudget waits_;
  std::unique_ptr<AcceptLoop> loop_;

  Mutex mutex_;
  // What was handed over, by peer: also what is closed since, until that is seen.
  std::map<std::string, Connection> connections_ EVENPACK_GUARDED_BY(mutex_);
  std::map<int, std::string> peers_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_APP_GRPC_PORT_H_
