#include "gpu_worker/attach/attach_client.h"

namespace evenpack::worker {

absl::StatusOr<Attachment> Attach(const std::string& path, uint64_t arena_bytes) {
  absl::StatusOr<OwnedDescriptor> connection = ConnectTo(path);
  if (!connection.ok()) return connection.status();
  AttachRequest request;
  request.arena_bytes = arena_bytes;
  absl::Status status = SendRequest(connection->get(), request);
  if (!status.ok()) return status;
  absl::StatusOr<ReceivedReply> received = ReceiveReply(connection->get());
  if (!received.ok()) return received.status();
  if (status = ReadResult(received->reply.result); !status.ok()) return status;
  absl::StatusOr<Arena> arena = Arena::Open(std::move(received->descriptor));
  if (!arena.ok()) return arena.status();
  return Attachment(*std::move(connection), received->reply.token, *std::move(arena));
}

}  // namespace evenpack::worker
