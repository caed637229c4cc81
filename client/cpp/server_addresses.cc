#include "client/cpp/server_addresses.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::client {
namespace {

constexpr char kAccepted[] = "HOST:PORT[,HOST:PORT...], each of them once";

}  // namespace

absl::StatusOr<std::vector<std::string>> ServerAddresses(absl::string_view field,
                                                         absl::string_view text) {
  std::vector<std::string> addresses = absl::StrSplit(text, ',');
  for (auto at = addresses.begin(); at != addresses.end(); ++at) {
    const bool stripped = *at == absl::StripAsciiWhitespace(*at);
    if (at->empty() || !stripped || std::find(addresses.begin(), at, *at) != at) {
      return InvalidField(field, absl::StrCat("'", text, "'"), kAccepted);
    }
  }
  return addresses;
}

}  // namespace evenpack::client
