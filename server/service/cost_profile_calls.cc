#include "server/service/cost_profile_calls.h"

#include <cstddef>
#include <string>

#include "evenpack/v1/cost_profile.pb.h"
#include "server/service/cost_profile_conversion.h"
#include "server/service/field_path.h"
#include "server/service/page_size.h"

namespace evenpack {
namespace {

// What a list tells of a profile.
v1::CostProfile WithoutTables(v1::CostProfile profile) {
  profile.clear_forward();
  profile.clear_backward();
  profile.clear_collectives();
  return profile;
}

}  // namespace

void Handle(const ServiceEnvironment& environment,
            const v1::PutCostProfileRequest& request, v1::PutCostProfileResponse&,
            const Answer& answer) {
  const v1::CostProfile& profile = request.profile();
  absl::Status status = CheckJobName(profile.name());
  if (status.ok()) status = CheckProfile(profile);
  if (!status.ok()) return answer(Under("profile", status));
  environment.profiles.Put(profile.name(), profile.SerializeAsString(), answer);
}

void Handle(const ServiceEnvironment& environment,
            const v1::GetCostProfileRequest& request,
            v1::GetCostProfileResponse& response, const Answer& answer) {
  const absl::StatusOr<std::string> bytes = environment.profiles.Find(request.name());
  if (bytes.ok()) response.mutable_profile()->ParseFromString(*bytes);
  answer(bytes.status());
}

void Handle(const ServiceEnvironment& environment,
            const v1::ListCostProfilesRequest& request,
            v1::ListCostProfilesResponse& response, const Answer& answer) {
  const absl::StatusOr<size_t> size = PageSize(request.page_size());
  if (!size.ok()) return answer(size.status());
  // A page token is the last name of the page before.
  CostProfileRegistry::Listed listed =
      environment.profiles.List(request.page_token(), *size + 1);
  if (listed.size() > *size) {
    listed.pop_back();
    response.set_next_page_token(listed.back().first);
  }
  for (const auto& [name, bytes] : listed) {
    if (bytes.ok()) {
      v1::CostProfile profile;
      profile.ParseFromString(*bytes);
      *response.add_profiles() = WithoutTables(std::move(profile));
    } else {
      v1::BrokenCostProfile& broken = *response.add_broken_profiles();
      broken.set_name(name);
      broken.set_error(std::string(bytes.status().message()));
    }
  }
  answer(absl::OkStatus());
}

void Handle(const ServiceEnvironment& environment,
            const v1::DeleteCostProfileRequest& request, v1::DeleteCostProfileResponse&,
            const Answer& answer) {
  environment.profiles.Remove(request.name(), answer);
}

}  // namespace evenpack
