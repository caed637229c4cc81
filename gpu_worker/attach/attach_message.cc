#include "gpu_worker/attach/attach_message.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
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

absl::Status SendAll(int connection, const void* data, size_t size) {
  const auto* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = send(connection, bytes, size, MSG_NOSIGNAL);
    if (sent <= 0) return Gone();
    bytes += sent;
    size -= static_cast<size_t>(sent);
  }
  return absl::OkStatus();
}

absl::Status ReceiveAll(int connection, void* data, size_t size) {
  auto* bytes = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t received = recv(connection, bytes, size, 0);
    if (received <= 0) return Gone();
    bytes += received;
    size -= static_cast<size_t>(received);
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
  return sendmsg(connection, &message.header, MSG_NOSIGNAL) == 1 ? absl::OkStatus()
                                                                 : Gone();
}

absl::Status ReceiveDescriptors(int connection, ReceivedReply& into) {
  DescriptorMessage message;
  if (recvmsg(connection, &message.header, MSG_CMSG_CLOEXEC) != 1) return Gone();
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
  // At once: a time-out of the socket's is of all of it then.
  const ssize_t received = recv(connection, &request, sizeof(request), MSG_WAITALL);
  if (received != sizeof(request)) return Gone();
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
