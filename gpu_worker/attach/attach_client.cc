#include "gpu_worker/attach/attach_client.h"

#include <sys/socket.h>
#include <sys/time.h>

#include "absl/strings/str_cat.h"

namespace evenpack::worker {
namespace {

void SetPatience(int connection, std::chrono::microseconds patience) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(patience);
  const timeval value{whole.count(), (patience - whole).count()};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &value, sizeof(value));
  setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &value, sizeof(value));
}

// One that refuses this user's processes may have answered and gone before it is asked.
absl::StatusOr<ReceivedReply> Ask(int connection, const AttachRequest& request) {
  SendRequest(connection, request).IgnoreError();
  return ReceiveReply(connection);
}

// Of one that is gone or too slow.
absl::Status WhyUnanswered(int connection, const std::string& path,
                           const AttachPatience& patience, absl::Status status) {
  if (patience.stop.stop_requested()) return absl::CancelledError("cancelled");
  if (HasHungUp(connection)) return status;
  const double seconds = std::chrono::duration<double>(patience.timeout).count();
  return absl::DeadlineExceededError(
      absl::StrCat("the worker at ", path, " has not answered within ", seconds, " s"));
}

}  // namespace

absl::Status Attachment::CheckProcess() const {
  if (getpid() == process_) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "process ", getpid(), " is a fork of process ", process_,
      ", which is attached to the worker; accepted: passes of that one, or "
      "a worker of its own"));
}

absl::StatusOr<Attachment> Attach(const std::string& path, uint64_t arena_bytes,
                                  const MapTensors& map,
                                  const AttachPatience& patience) {
  absl::StatusOr<UnforkedConnection> connection = UnforkedConnection::To(path);
  if (!connection.ok()) return connection.status();
  SetPatience(connection->get(), patience.timeout);
  const std::stop_callback hang_up(
      patience.stop, [descriptor = connection->get()] { HangUp(descriptor); });
  AttachRequest request;
  request.arena_bytes = arena_bytes;
  request.kind = map == nullptr ? ArenaKind::kHost : ArenaKind::kCuda;
  absl::StatusOr<ReceivedReply> received = Ask(connection->get(), request);
  if (!received.ok()) {
    return WhyUnanswered(connection->get(), path, patience, received.status());
  }
  absl::Status status = ReadResult(received->reply.result);
  if (!status.ok()) return status;
  absl::StatusOr<Arena> arena =
      map == nullptr
          ? Arena::Open(std::move(received->arena))
          : Arena::Open(std::move(received->arena), std::move(received->tensors), map);
  if (!arena.ok()) return arena.status();
  return Attachment(*std::move(connection), received->reply.token, *std::move(arena));
}

}  // namespace evenpack::worker
