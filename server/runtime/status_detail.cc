#include "server/runtime/status_detail.h"

#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"

namespace evenpack {
namespace {

constexpr absl::string_view kReason = "evenpack.reason";
constexpr absl::string_view kValuePrefix = "evenpack.value.";

}  // namespace

absl::Status WithDetail(absl::Status status, const StatusDetail& detail) {
  for (const auto& [name, value] : DetailOf(status).values) {
    status.ErasePayload(std::string(kValuePrefix) + name);
  }
  status.SetPayload(kReason, absl::Cord(detail.reason));
  for (const auto& [name, value] : detail.values) {
    status.SetPayload(std::string(kValuePrefix) + name, absl::Cord(value));
  }
  return status;
}

StatusDetail DetailOf(const absl::Status& status) {
  StatusDetail detail;
  status.ForEachPayload([&detail](absl::string_view url, const absl::Cord& value) {
    if (url == kReason) {
      detail.reason = std::string(value);
    } else if (url.substr(0, kValuePrefix.size()) == kValuePrefix) {
      detail.values[std::string(url.substr(kValuePrefix.size()))] = std::string(value);
    }
  });
  return detail;
}

}  // namespace evenpack
