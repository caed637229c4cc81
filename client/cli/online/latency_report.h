// What ranks measured, for people and for scripts.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_LATENCY_REPORT_H_
#define EVENPACK_CLIENT_CLI_ONLINE_LATENCY_REPORT_H_

#include <string>

namespace evenpack::v1 {
class GetLatencyResponse;
}  // namespace evenpack::v1

namespace evenpack {

// A table of the steps and why they took so long, the ranks of the last whole one,
// which rank was latest most often, and by how much the job's costs are off.
std::string LatencyText(const v1::GetLatencyResponse& latency);
// evenpack.v1.GetLatencyResponse as message_json.h writes it.
std::string LatencyJson(const v1::GetLatencyResponse& latency);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_LATENCY_REPORT_H_
