#include "gpu_worker/attach/attach_client.h"

#include "absl/strings/str_cat.h"

namespace evenpack::worker {

absl::Status Attachment::CheckProcess() const {
  if (getpid() == process_) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "process ", getpid(), " is a fork of process ", process_,
      ", which is attached to the worker; accepted: passes of that one, or "
      "a worker of its own"));
}

absl::StatusOr<Attachment> Attach(const std::string& path, uint64_t arena_bytes,
                                  const MapTensors& map) {
  absl::StatusOr<UnforkedConnection> connection = UnforkedConnection::To(path);
  if (!connection.ok()) return connection.status();
  AttachRequest request;
  request.arena_bytes = arena_bytes;
  request.kind = map == nullptr ? ArenaKind::kHost : ArenaKind::kCuda;
  absl::Status status = SendRequest(connection->get(), request);
  if (!status.ok()) return status;
  absl::StatusOr<ReceivedReply> received = ReceiveReply(connection->get());
  if (!received.ok()) return received.status();
  if (status = ReadResult(received->reply.result); !status.ok()) return status;
  absl::StatusOr<Arena> arena =
      map == nullptr
          ? Arena::Open(std::move(received->arena))
          : Arena::Open(std::move(received->arena), std::move(received->tensors), map);
  if (!arena.ok()) return arena.status();
  return Attachment(*std::move(connection), received->reply.token, *std::move(arena));
}

}  // namespace evenpack::worker
