// evenpack-server without its main: the rooms wired together, started and drained.
#ifndef EVENPACK_SERVER_APP_PACKING_SERVER_H_
#define EVENPACK_SERVER_APP_PACKING_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/app/server_options.h"
#include "server/store/state_store.h"

namespace evenpack {

// Waits as long as it takes, and does nothing where the lead is lost.
LeadTerms WaitForLead();

class PackingServer {
 public:
  // Serves when it returns: where several servers share a store, once this one leads
  // it. Until then the ports of HTTP and health are open, and say that it doesn't
  // serve. Errors name the flag. CANCELLED: `terms` gave up.
  static absl::StatusOr<std::unique_ptr<PackingServer>> Start(
      const ServerOptions& options, const LeadTerms& terms = WaitForLead());
  ~PackingServer();
  PackingServer(const PackingServer&) = delete;
  PackingServer& operator=(const PackingServer&) = delete;

  // HOST:PORT that it listens on.
  const std::string& grpc_address() const;
  // Empty without an HTTP port.
  const std::string& http_address() const;
  // Empty without a port of health alone.
  const std::string& health_address() const;

  // NOT_SERVING and not ready; streams end once what they began is committed; then the
  // ports close. Takes at most the options' drain_seconds and two more. Once. False
  // where a connection would not close: destruction waits for it, the end of the
  // process need not.
  bool Drain();

 private:
  class Rooms;
  explicit PackingServer(std::unique_ptr<Rooms> rooms);

  const std::unique_ptr<Rooms> rooms_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_APP_PACKING_SERVER_H_
