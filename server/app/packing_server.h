// evenpack-server without its main: the rooms wired together, started and drained.
#ifndef EVENPACK_SERVER_APP_PACKING_SERVER_H_
#define EVENPACK_SERVER_APP_PACKING_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/app/server_options.h"
#include "server/store/state_store.h"

namespace evenpack {

// How far a drain came. Where that is not all the way, destruction waits for the rest;
// the end of the process need not.
enum class Drained {
  kAll,
  // A connection would not close. All that was begun is committed.
  kButConnections,
  // A commit or the store's database would not come to an end. What it has not
  // committed was told to nobody.
  kNotInTime,
};

class PackingServer {
 public:
  // Serves when it returns: where several servers share a store, once this one has
  // joined them. Until then the ports are open, and say that it doesn't serve; calls
  // wait. With a store of its own the gRPC port opens once all jobs are read, and who
  // asks over HTTP for one before is told to try again. Errors name the flag.
  // `lost_all`: as LeadListener::OnLostAll; the server is to be drained then. May be
  // null.
  static absl::StatusOr<std::unique_ptr<PackingServer>> Start(
      const ServerOptions& options, std::function<void()> lost_all = nullptr);
  // Whether the system gives the threads that such a one has when it serves. Before all
  // other threads. RESOURCE_EXHAUSTED.
  static absl::Status CheckThreads(const ServerOptions& options);
  // The same over a store that is open, in place of the options'.
  static absl::StatusOr<std::unique_ptr<PackingServer>> StartOver(
      std::unique_ptr<StateStore> store, const ServerOptions& options,
      std::function<void()> lost_all = nullptr);
  ~PackingServer();
  PackingServer(const PackingServer&) = delete;
  PackingServer& operator=(const PackingServer&) = delete;

  // HOST:PORT that it listens on.
  const std::string& grpc_address() const;
  // Empty without an HTTP port.
  const std::string& http_address() const;
  // Empty without a port of health alone.
  const std::string& health_address() const;

  // NOT_SERVING and not ready; jobs are handed over to the servers that stay, where
  // there are any; streams end once what they began is committed; then the ports
  // close. Takes at most the options' drain_seconds and two more. Once.
  Drained Drain();

 private:
  class Rooms;
  using StoreOpener = std::function<absl::StatusOr<std::unique_ptr<StateStore>>()>;
  explicit PackingServer(std::unique_ptr<Rooms> rooms);

  // Opens the store once nothing else of the options is wrong.
  static absl::StatusOr<std::unique_ptr<PackingServer>> StartWith(
      const StoreOpener& open_store, const ServerOptions& options,
      std::function<void()> lost_all);

  const std::unique_ptr<Rooms> rooms_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_APP_PACKING_SERVER_H_
