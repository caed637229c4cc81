#include "client/cpp/route.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cpp/error_details.h"
#include "client/cpp/retry.h"
#include "server/runtime/error_reason.h"
#include "server/runtime/status_detail.h"

namespace evenpack::client {
namespace {

// How gRPC begins the message of a call that had no connection to go over. Other words
// in another version would cost a back-off, no more.
constexpr char kNeverSent[] = "failed to connect to all addresses";

std::string AddressIn(const ErrorDetails& details) {
  const auto address = details.metadata.find("address");
  return address == details.metadata.end() ? "" : address->second;
}

// Of an error that no server gave.
bool IsConnections(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool IsRedirect(const absl::Status& status) {
  return absl::IsUnavailable(status) && DetailsOf(status).reason == kLedElsewhere;
}

Route::Route(LeaderMap& leaders, std::string job)
    : leaders_(leaders), job_(std::move(job)), asked_{leaders.AddressFor(job_)} {}

bool Route::Follow(const absl::Status& status) {
  const ErrorDetails details = DetailsOf(status);
  const std::string leader = AddressIn(details);
  if (details.reason == kLedElsewhere && !leader.empty()) {
    leaders_.LedAt(job_, leader);
    return MoveOn();
  }
  // One that can't reach its store: another may, and lead the job by now.
  if (details.reason == kLedElsewhere || details.reason == kNoLeader ||
      details.reason == kStoreFailed) {
    leaders_.NobodyLeads(job_, address());
    return false;
  }
  const bool drains = details.reason == kDraining;
  if (!drains && (!details.reason.empty() || !IsConnections(status))) return false;
  leaders_.Lost(address());
  return (drains || absl::StartsWith(status.message(), kNeverSent)) && MoveOn();
}

bool Route::MoveOn() {
  const size_t most = leaders_.given().size() + kMostRedirects;
  std::string next = leaders_.AddressFor(job_);
  if (asked_.size() > most || std::ranges::find(asked_, next) != asked_.end()) {
    return false;
  }
  asked_.push_back(std::move(next));
  return true;
}

absl::Status Route::Explained(const absl::Status& status) const {
  if (status.ok()) return status;
  const bool has_others = leaders_.given().size() > 1 || asked_.size() > 1 ||
                          address() != leaders_.given().front();
  if (!has_others) return status;
  const std::string asked = absl::StrCat(" (asked ", absl::StrJoin(asked_, ", "), ")");
  return IsRetryable(status) ? Annotated(status, asked) : status;
}

}  // namespace evenpack::client
