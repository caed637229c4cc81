#include "gpu_worker/attach/attach_message.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

namespace evenpack::worker {
namespace {

static_assert(std::is_trivially_copyable_v<AttachRequest> &&
              std::is_trivially_copyable_v<AttachReply>);

absl::Status Gone() {
  return absl::UnavailableError(
      "the other end of the attach socket is gone or too slow");
}

// When a socket's patience with what is done on it from now on is over.
class Deadline {
 public:
  // `option`: SO_RCVTIMEO or SO_SNDTIMEO.
  Deadline(int connection, int option) {
    timeval patience{};
    socklen_t size = sizeof(patience);
    getsockopt(connection, SOL_SOCKET, option, &patience, &size);
    const auto whole = std::chrono::seconds(patience.tv_sec) +
                       std::chrono::microseconds(patience.tv_usec);
    if (whole.count() > 0) at_ = std::chrono::steady_clock::now() + whole;
  }

  bool IsOver() const { return at_ && std::chrono::steady_clock::now() >= *at_; }

 private:
  std::optional<std::chrono::steady_clock::time_point> at_;
};

// Does it again where a signal came meanwhile: a trainer's handlers, and timers of what
// profiles it, are no end of its worker. Each try has the socket's patience anew, so
// that all together have it twice at most.
template <typename Call>
ssize_t Uninterrupted(const Deadline& deadline, const Call& call) {
  ssize_t done = call();
  while (done < 0 && errno == EINTR && !deadline.IsOver()) done = call();
  return done;
}

absl::Status SendAll(int connection, const void* data, size_t size) {
  const Deadline deadline(connection, SO_SNDTIMEO);
  const auto* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = Uninterrupted(deadline, [connection, bytes, size] {
      return send(connection, bytes, size, MSG_NOSIGNAL);
    });
    if (sent <= 0) return Gone();
    bytes += sent;
    size -= static_cast<size_t>(sent);
  }
  return absl::OkStatus();
}

// The socket's patience is with all of it: a part may come when a signal does.
absl::Status ReceiveAll(int connection, void* data, size_t size) {
  const Deadline deadline(connection, SO_RCVTIMEO);
  auto* bytes = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t received = Uninterrupted(deadline, [connection, bytes, size] {
      return recv(connection, bytes, size, MSG_WAITALL);
    });
    if (received <= 0) return Gone();
    bytes += received;
    size -= static_cast<size_t>(received);
    if (size > 0 && deadline.IsOver()) return Gone();
  }
  return absl::OkStatus();
}

constexpr size_t kMostDescriptors = 2;

// A byte by which descriptors travel, or which says that there are none.
struct DescriptorMessage {
  char byte = 0;
  iovec bytes{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))] = {};
  msghdr header{};

  DescriptorMessage() {
    header.msg_iov = &bytes;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
  }
};

absl::Status SendDescriptors(int connection, const ArenaDescriptors& descriptors) {
  DescriptorMessage message;
  if (descriptors.arena < 0) {
    message.header.msg_control = nullptr;
    message.header.msg_controllen = 0;
  } else {
    const int sent[kMostDescriptors] = {descriptors.arena, descriptors.tensors};
    const size_t bytes = (descriptors.tensors < 0 ? 1 : 2) * sizeof(int);
    message.header.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* const control = CMSG_FIRSTHDR(&message.header);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(control), sent, bytes);
  }
  const Deadline deadline(connection, SO_SNDTIMEO);
  const ssize_t sent = Uninterrupted(deadline, [connection, &message] {
    return sendmsg(connection, &message.header, MSG_NOSIGNAL);
  });
  return sent == 1 ? absl::OkStatus() : Gone();
}

absl::Status ReceiveDescriptors(int connection, ReceivedReply& into) {
  DescriptorMessage message;
  const Deadline deadline(connection, SO_RCVTIMEO);
  const ssize_t taken = Uninterrupted(deadline, [connection, &message] {
    return recvmsg(connection, &message.header, MSG_CMSG_CLOEXEC);
  });
  if (taken != 1) return Gone();
  const cmsghdr* const control = CMSG_FIRSTHDR(&message.header);
  if (control == nullptr || control->cmsg_level != SOL_SOCKET ||
      control->cmsg_type != SCM_RIGHTS) {
    return absl::OkStatus();
  }
  int received[kMostDescriptors] = {-1, -1};
  const size_t bytes = std::min(sizeof(received), control->cmsg_len - CMSG_LEN(0));
  std::memcpy(received, CMSG_DATA(control), bytes);
  into.arena = FileDescriptor(received[0]);
  into.tensors = FileDescriptor(received[1]);
  return absl::OkStatus();
}

}  // namespace

absl::Status SendRequest(int connection, const AttachRequest& request) {
  return SendAll(connection, &request, sizeof(request));
}

absl::StatusOr<AttachRequest> ReceiveRequest(int connection) {
  AttachRequest request;
  absl::Status status = ReceiveAll(connection, &request, sizeof(request));
  if (!status.ok()) return status;
  return request;
}

absl::Status SendReply(int connection, const AttachReply& reply,
                       const ArenaDescriptors& descriptors) {
  absl::Status status = SendAll(connection, &reply, sizeof(reply));
  return status.ok() ? SendDescriptors(connection, descriptors) : status;
}

absl::StatusOr<ReceivedReply> ReceiveReply(int connection) {
  ReceivedReply received;
  absl::Status status = ReceiveAll(connection, &received.reply, sizeof(received.reply));
  if (status.ok()) status = ReceiveDescriptors(connection, received);
  if (!status.ok()) return status;
  return received;
}

}  // namespace evenpack::worker
