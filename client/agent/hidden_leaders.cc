#include "client/agent/hidden_leaders.h"

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>

#include <chrono>

#include "absl/strings/str_cat.h"
#include "client/cpp/error_details.h"
#include "client/cpp/route.h"
#include "evenpack/v1/packing_service.pb.h"
#include "server/runtime/error_reason.h"

namespace evenpack::agent {
namespace {

constexpr std::chrono::milliseconds kAskAgain{200};

}  // namespace

absl::Status WithoutLeader(const absl::Status& status) {
  if (!client::IsRedirect(status)) return status;
  client::ErrorDetails details = client::DetailsOf(status);
  details.reason = kNoLeader;
  details.metadata.erase("address");
  details.retry_delay = kAskAgain;
  return client::WithDetails(
      absl::UnavailableError(absl::StrCat("job '", details.metadata["job"],
                                          "': it has moved to another server")),
      details);
}

grpc::ByteBuffer WithoutAddresses(const grpc::ByteBuffer& listed,
                                  client::LeaderMap& leaders) {
  using Traits = grpc::SerializationTraits<v1::ListJobsResponse>;
  grpc::ByteBuffer read = listed;
  v1::ListJobsResponse jobs;
  if (!Traits::Deserialize(&read, &jobs).ok() || jobs.led_elsewhere().empty()) {
    return listed;
  }
  for (v1::JobPlace& place : *jobs.mutable_led_elsewhere()) {
    if (!place.address().empty()) leaders.LedAt(place.name(), place.address());
    place.clear_address();
  }
  grpc::ByteBuffer hidden;
  bool owned = false;
  return Traits::Serialize(jobs, &hidden, &owned).ok() ? hidden : listed;
}

}  // namespace evenpack::agent
