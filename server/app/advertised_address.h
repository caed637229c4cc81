// Where other servers of a shared store send clients of this one's jobs.
#ifndef EVENPACK_SERVER_APP_ADVERTISED_ADDRESS_H_
#define EVENPACK_SERVER_APP_ADVERTISED_ADDRESS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/web/listen_address.h"

namespace evenpack {

// What --advertise may say: HOST or HOST:PORT, IPv6 in brackets; port 0 where there is
// none. INVALID_ARGUMENT names advertise.
absl::StatusOr<ListenAddress> ParseAdvertised(std::string_view advertise);

// HOST:PORT: what --advertise says, or where that is empty `listening`, which is the
// HOST:PORT that the server listens on, as its operator wrote the host. In place of a
// wildcard, which is seen by `number`, the host as the system has it, it has this
// machine's name. Port 0 is that of `listening`. INVALID_ARGUMENT names the flag.
absl::StatusOr<std::string> AdvertisedAddress(std::string_view advertise,
                                              std::string_view listening,
                                              std::string_view number);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_APP_ADVERTISED_ADDRESS_H_
