#include "client/cpp/job_list.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "evenpack/v1/packing_service.pb.h"

namespace evenpack::client {
namespace {

// Why a job could not be had; deleted meanwhile, it is none.
void AddUnasked(const v1::JobPlace& place, const absl::Status& why,
                v1::ListJobsResponse& listed) {
  if (absl::IsNotFound(why)) return;
  v1::BrokenJob& job = *listed.add_broken_jobs();
  job.set_name(place.name());
  job.set_error(absl::StrCat(place.address().empty()
                                 ? "no server leads it just now: "
                                 : absl::StrCat("led by ", place.address(), ": "),
                             std::string(why.message())));
}

template <typename Jobs>
void SortByName(Jobs& jobs) {
  std::sort(jobs.begin(), jobs.end(),
            [](const auto& a, const auto& b) { return a.name() < b.name(); });
}

}  // namespace

void AddJobsLedElsewhere(Stub& stub, const CallOptions& options,
                         v1::ListJobsResponse& listed) {
  if (listed.led_elsewhere().empty()) return;
  // By address, as the first of its jobs had it.
  std::map<std::string, absl::Status> unreachable;
  for (const v1::JobPlace& place : listed.led_elsewhere()) {
    if (const auto found = unreachable.find(place.address());
        found != unreachable.end()) {
      AddUnasked(place, found->second, listed);
      continue;
    }
    v1::GetJobRequest request;
    request.set_name(place.name());
    absl::StatusOr<v1::GetJobResponse> response = stub.GetJob(request, options);
    if (response.ok()) {
      *listed.add_jobs() = std::move(*response->mutable_job());
      continue;
    }
    AddUnasked(place, response.status(), listed);
    if (!place.address().empty() && absl::IsUnavailable(response.status())) {
      unreachable.emplace(
          place.address(),
          absl::Status(response.status().code(),
                       absl::StrCat("not asked again after job '", place.name(),
                                    "': ", response.status().message())));
    }
  }
  SortByName(*listed.mutable_jobs());
  SortByName(*listed.mutable_broken_jobs());
}

}  // namespace evenpack::client
