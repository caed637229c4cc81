// Where other servers of a shared store send clients of this one's jobs.
#ifndef EVENPACK_SERVER_APP_ADVERTISED_ADDRESS_H_
#define EVENPACK_SERVER_APP_ADVERTISED_ADDRESS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace evenpack {

// HOST:PORT. `advertise`: what --advertise says, HOST or HOST:PORT, IPv6 in brackets;
// empty: `listening`, with this machine's name in place of a wildcard. Port 0 or none
// is that of `listening`, which is the HOST:PORT that the server listens on.
// INVALID_ARGUMENT names advertise.
absl::StatusOr<std::string> AdvertisedAddress(std::string_view advertise,
                                              std::string_view listening);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_APP_ADVERTISED_ADDRESS_H_
