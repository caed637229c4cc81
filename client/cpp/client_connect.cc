#include "client/cpp/client.h"
#include "client/cpp/grpc_stub.h"
#include "client/cpp/retrying_connection.h"

namespace evenpack::client {

absl::StatusOr<Client> Client::Connect(const ClientOptions& options) {
  if (absl::Status status = Validate(options); !status.ok()) return status;
  if (absl::Status status = CheckFiles(options.security); !status.ok()) return status;
  return Client(MakeRetryingConnection(MakeGrpcStub(options), options));
}

}  // namespace evenpack::client
