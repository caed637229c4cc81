#include "client/cli/online/profile_commands.h"

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/cli/json_text.h"
#include "client/cli/online/message_file.h"
#include "client/cli/online/profile_report.h"
#include "evenpack/v1/cost_profile.pb.h"

namespace evenpack {
namespace {

// What was done to the profile of this name.
void WriteDone(const std::string& name, const std::string& done,
               const FlagValues& values, const OnlineContext& context) {
  if (IsGiven(values, "--json")) {
    const Json json = {{"name", name}, {done, true}};
    context.out.Write(JsonText(json));
  } else {
    context.out.Write(absl::StrCat(done, " profile ", name, "\n"));
  }
}

}  // namespace

absl::Status RunProfilesPut(const FlagValues& values, const OnlineContext& context) {
  FlagReader reader(values);
  const std::string path = reader.Text("FILE", "an evenpack.v1.CostProfile");
  const std::string name = reader.Text("--name", "the profile's name", "");
  if (!reader.status().ok()) return reader.status();
  v1::CostProfile profile;
  absl::Status status = ReadMessageFile("FILE", path, profile);
  if (!status.ok()) return status;
  if (!name.empty()) profile.set_name(name);
  absl::StatusOr<client::Client> client = Connect(values, context);
  if (!client.ok()) return client.status();
  status = client->PutCostProfile(profile);
  if (status.ok()) WriteDone(profile.name(), "put", values, context);
  return status;
}

absl::Status RunProfilesList(const FlagValues& values, const OnlineContext& context) {
  absl::StatusOr<client::Client> client = Connect(values, context);
  if (!client.ok()) return client.status();
  const absl::StatusOr<v1::ListCostProfilesResponse> profiles =
      client->ListCostProfiles();
  if (!profiles.ok()) return profiles.status();
  context.out.Write(IsGiven(values, "--json") ? ProfilesJson(*profiles)
                                              : ProfilesText(*profiles));
  return absl::OkStatus();
}

absl::Status RunProfilesDescribe(const FlagValues& values,
                                 const OnlineContext& context) {
  FlagReader reader(values);
  const std::string name = reader.Text("NAME", "the profile's name");
  if (!reader.status().ok()) return reader.status();
  absl::StatusOr<client::Client> client = Connect(values, context);
  if (!client.ok()) return client.status();
  const absl::StatusOr<v1::CostProfile> profile = client->GetCostProfile(name);
  if (!profile.ok()) return profile.status();
  context.out.Write(IsGiven(values, "--json") ? ProfileJson(*profile)
                                              : ProfileText(*profile));
  return absl::OkStatus();
}

absl::Status RunProfilesDelete(const FlagValues& values, const OnlineContext& context) {
  FlagReader reader(values);
  const std::string name = reader.Text("NAME", "the profile's name");
  if (!reader.status().ok()) return reader.status();
  absl::StatusOr<client::Client> client = Connect(values, context);
  if (!client.ok()) return client.status();
  absl::Status status = client->DeleteCostProfile(name);
  if (status.ok()) WriteDone(name, "deleted", values, context);
  return status;
}

}  // namespace evenpack
