#include "gpu_worker/app/profile_upload.h"

#include <google/protobuf/util/json_util.h>

#include <chrono>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/cpp/client.h"
#include "client/cpp/retry_news.h"
#include "evenpack/v1/cost_profile.pb.h"

namespace evenpack::worker {

absl::Status UploadProfile(const std::string& address, const client::Security& security,
                           const std::string& json) {
  v1::CostProfile profile;
  const auto read = google::protobuf::util::JsonStringToMessage(json, &profile);
  if (!read.ok()) {
    return absl::InternalError(
        absl::StrCat("the profile is no CostProfile: ",
                     absl::string_view(read.message().data(), read.message().size())));
  }
  client::ClientOptions options{.address = address, .security = security};
  options.backoff.total = std::chrono::seconds(30);
  options.on_retry =
      client::Seldom(client::kTerminalPace, [](const client::RetryNews& news) {
        std::fputs(absl::StrCat("evenpack-worker: ", TextOf(news), "\n").c_str(),
                   stderr);
      });
  absl::StatusOr<client::Client> client = client::Client::Connect(options);
  if (!client.ok()) return client.status();
  return client->PutCostProfile(profile);
}

}  // namespace evenpack::worker
