#include "server/app/advertised_address.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"
#include "server/service/field_path.h"

namespace evenpack {
namespace {

bool IsWildcard(std::string_view number) {
  return number == "0.0.0.0" || number == "::" || number == "::ffff:0.0.0.0";
}

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

absl::StatusOr<ListenAddress> ParseAdvertised(std::string_view advertise) {
  std::string with_port(advertise);
  if (!HasPort(advertise)) absl::StrAppend(&with_port, ":0");
  absl::StatusOr<ListenAddress> told = ParseListenAddress(with_port);
  if (told.ok()) return told;
  return InvalidField("advertise", absl::StrCat("'", std::string(advertise), "'"),
                      "HOST, HOST:PORT, [IPV6] or [IPV6]:PORT, with a port of 0 (that "
                      "of --listen) to 65535");
}

absl::StatusOr<std::string> AdvertisedAddress(std::string_view advertise,
                                              std::string_view listening,
                                              std::string_view number) {
  absl::StatusOr<ListenAddress> own = ParseListenAddress(listening);
  if (!own.ok()) return Renamed("listen", own.status());
  if (advertise.empty()) {
    if (IsWildcard(number)) own->host = MachineName();
    return FormatAddress(*own);
  }
  absl::StatusOr<ListenAddress> told = ParseAdvertised(advertise);
  if (!told.ok()) return told.status();
  if (told->port == 0) told->port = own->port;
  return FormatAddress(*told);
}

}  // namespace evenpack
