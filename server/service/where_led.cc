#include "server/service/where_led.h"

#include <string>

#include "server/runtime/error_reason.h"
#include "server/runtime/status_detail.h"

namespace evenpack {

void EndWhereLed(const ServiceEnvironment& environment, const absl::Status& status,
                 const Answer& end) {
  if (!absl::IsNotFound(status) || environment.directory == nullptr) return end(status);
  const StatusDetail detail = DetailOf(status);
  const auto job = detail.values.find("job");
  if (detail.reason != kJobNotFound || job == detail.values.end()) {
    return end(status);
  }
  environment.directory->WhereIs(job->second, end);
}

bool MayKnowProfile(const ServiceEnvironment& environment, const absl::Status& missed) {
  return environment.directory != nullptr && absl::IsNotFound(missed) &&
         DetailOf(missed).reason == kProfileNotFound;
}

}  // namespace evenpack
