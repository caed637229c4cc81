#include "server/service/service_environment.h"

#include "absl/strings/str_cat.h"
#include "server/runtime/error_reason.h"
#include "server/runtime/status_detail.h"

namespace evenpack {

ProfileFinder FindProfileIn(const ServiceEnvironment& environment) {
  return [&profiles = environment.profiles](const std::string& name) {
    return profiles.Find(name);
  };
}

absl::Status Draining() {
  return WithDetail(
      absl::UnavailableError("server: it is shutting down; connect to another, or "
                             "again once it is back"),
      {kDraining, {}});
}

absl::Status Starting() {
  return WithDetail(
      absl::UnavailableError("server: it is starting, and still reads its jobs; try "
                             "again"),
      {"STARTING", {}});
}

absl::Status AnswerTooLarge(const std::string& message, uint64_t bytes,
                            uint64_t limit) {
  return WithDetail(absl::ResourceExhaustedError(
                        absl::StrCat("answer: a ", message, " of ", bytes,
                                     " bytes, which is not sent; accepted: at most ",
                                     limit, ", the server's --max-message-bytes")),
                    {kAnswerTooLarge,
                     {{"bytes", absl::StrCat(bytes)}, {"limit", absl::StrCat(limit)}}});
}

absl::Status TooManyCalls(const LiveCalls& calls) {
  return WithDetail(absl::ResourceExhaustedError(
                        absl::StrCat("calls: there are ", calls.limit(),
                                     " of this kind, as many as this server holds")),
                    {kTooManyCalls, {{"limit", absl::StrCat(calls.limit())}}});
}

}  // namespace evenpack
