// What a TCP connection has carried.
#ifndef EVENPACK_SERVER_APP_CONNECTION_BYTES_H_
#define EVENPACK_SERVER_APP_CONNECTION_BYTES_H_

#include <cstdint>
#include <optional>

namespace evenpack {

// Bytes, from its beginning.
struct ConnectionBytes {
  uint64_t received = 0;
  // As far as the peer's machine has them.
  uint64_t sent = 0;
};

// None where the descriptor is no TCP connection.
std::optional<ConnectionBytes> BytesOf(int fd);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_APP_CONNECTION_BYTES_H_
