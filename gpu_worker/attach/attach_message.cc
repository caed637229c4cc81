#include "gpu_worker/attach/attach_message.h"

#include <sys/socket.h>

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

// A byte by which a descriptor travels, or which says that there is none.
struct DescriptorMessage {
  char byte = 0;
  iovec bytes{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};

  DescriptorMessage() {
    header.msg_iov = &bytes;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
  }
};

absl::Status SendDescriptor(int connection, int descriptor) {
  DescriptorMessage message;
  if (descriptor < 0) {
    message.header.msg_control = nullptr;
    message.header.msg_controllen = 0;
  } else {
    cmsghdr* const control = CMSG_FIRSTHDR(&message.header);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(control), &descriptor, sizeof(int));
  }
  return sendmsg(connection, &message.header, MSG_NOSIGNAL) == 1 ? absl::OkStatus()
                                                                 : Gone();
}

absl::StatusOr<OwnedDescriptor> ReceiveDescriptor(int connection) {
  DescriptorMessage message;
  if (recvmsg(connection, &message.header, MSG_CMSG_CLOEXEC) != 1) return Gone();
  const cmsghdr* const control = CMSG_FIRSTHDR(&message.header);
  int descriptor = -1;
  if (control != nullptr && control->cmsg_level == SOL_SOCKET &&
      control->cmsg_type == SCM_RIGHTS && control->cmsg_len == CMSG_LEN(sizeof(int))) {
    std::memcpy(&descriptor, CMSG_DATA(control), sizeof(int));
  }
  return OwnedDescriptor(descriptor);
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

absl::Status SendReply(int connection, const AttachReply& reply, int descriptor) {
  absl::Status status = SendAll(connection, &reply, sizeof(reply));
  return status.ok() ? SendDescriptor(connection, descriptor) : status;
}

absl::StatusOr<ReceivedReply> ReceiveReply(int connection) {
  ReceivedReply received;
  absl::Status status = ReceiveAll(connection, &received.reply, sizeof(received.reply));
  if (!status.ok()) return status;
  absl::StatusOr<OwnedDescriptor> descriptor = ReceiveDescriptor(connection);
  if (!descriptor.ok()) return descriptor.status();
  received.descriptor = *std::move(descriptor);
  return received;
}

}  // namespace evenpack::worker
