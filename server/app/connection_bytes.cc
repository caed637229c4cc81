#include "server/app/connection_bytes.h"

// Not beside <netinet/tcp.h>, whose tcp_info is shorter.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>

namespace evenpack {

std::optional<ConnectionBytes> BytesOf(int fd) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  constexpr size_t kEnd =
      offsetof(tcp_info, tcpi_bytes_received) + sizeof(info.tcpi_bytes_received);
  static_assert(offsetof(tcp_info, tcpi_bytes_acked) < kEnd);
  if (size < kEnd) return std::nullopt;
  return ConnectionBytes{info.tcpi_bytes_received, info.tcpi_bytes_acked};
}

}  // namespace evenpack
