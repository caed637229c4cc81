// Cost profiles, for people and for scripts.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_PROFILE_REPORT_H_
#define EVENPACK_CLIENT_CLI_ONLINE_PROFILE_REPORT_H_

#include <string>

namespace evenpack::v1 {
class CostProfile;
class ListCostProfilesResponse;
}  // namespace evenpack::v1

namespace evenpack {

// What was measured, and its tables in microseconds.
std::string ProfileText(const v1::CostProfile& profile);
// evenpack.v1.CostProfile as message_json.h writes it.
std::string ProfileJson(const v1::CostProfile& profile);

// A table, one row a profile; below it what is damaged.
std::string ProfilesText(const v1::ListCostProfilesResponse& listed);
// {profiles: [as ProfileJson, without tables], broken_profiles: [{name, error}]}.
std::string ProfilesJson(const v1::ListCostProfilesResponse& listed);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_PROFILE_REPORT_H_
