#include "client/cli/online/latency_command.h"

#include <string>

#include "absl/status/statusor.h"
#include "client/cli/online/latency_report.h"
#include "evenpack/v1/latency.pb.h"

namespace evenpack {

absl::Status RunLatency(const FlagValues& values, const OnlineContext& context) {
  FlagReader reader(values);
  v1::GetLatencyRequest request;
  request.set_job(reader.Text("--job", "a job"));
  request.set_steps(reader.Integer32("--steps", {1, 64}, 8));
  request.set_ranks(reader.Integer32("--ranks", {1, 1024}, 16));
  if (!reader.status().ok()) return reader.status();
  absl::StatusOr<client::Client> client = Connect(values, context);
  if (!client.ok()) return client.status();
  const absl::StatusOr<v1::GetLatencyResponse> latency = client->GetLatency(request);
  if (!latency.ok()) return latency.status();
  context.out.Write(IsGiven(values, "--json") ? LatencyJson(*latency)
                                              : LatencyText(*latency));
  return absl::OkStatus();
}

}  // namespace evenpack
