// What a TCP connection has received.
#ifndef EVENPACK_SERVER_APP_RECEIVED_BYTES_H_
#define EVENPACK_SERVER_APP_RECEIVED_BYTES_H_

#include <cstdint>
#include <optional>

namespace evenpack {

// Bytes, from its beginning; none where the descriptor is no TCP connection.
std::optional<uint64_t> ReceivedBytes(int fd);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_APP_RECEIVED_BYTES_H_
