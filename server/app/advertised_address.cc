#include "server/app/advertised_address.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "server/service/field_path.h"
#include "server/web/listen_address.h"

namespace evenpack {
namespace {

bool IsWildcard(const std::string& host) { return host == "0.0.0.0" || host == "::"; }

std::string MachineName() {
  char name[256] = {};
  // Room for a name that is cut off, with its end.
  if (gethostname(name, sizeof(name) - 1) != 0) return "localhost";
  return name;
}

bool HasPort(std::string_view address) {
  const size_t colon = address.rfind(':');
  const size_t bracket = address.rfind(']');
  return colon != std::string_view::npos &&
         (bracket == std::string_view::npos || colon > bracket);
}

}  // namespace

absl::StatusOr<std::string> AdvertisedAddress(std::string_view advertise,
                                              std::string_view listening) {
  absl::StatusOr<ListenAddress> own = ParseListenAddress(listening);
  if (!own.ok()) return Renamed("listen", own.status());
  if (advertise.empty()) {
    if (IsWildcard(own->host)) own->host = MachineName();
    return FormatAddress(*own);
  }
  std::string with_port(advertise);
  if (!HasPort(advertise)) absl::StrAppend(&with_port, ":0");
  absl::StatusOr<ListenAddress> told = ParseListenAddress(with_port);
  if (!told.ok()) return Renamed("advertise", told.status());
  if (told->port == 0) told->port = own->port;
  return FormatAddress(*told);
}

}  // namespace evenpack
