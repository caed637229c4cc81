#include "gpu_worker/app/profile_text.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace evenpack::worker {
namespace {

using Json = nlohmann::ordered_json;

double Microseconds(int64_t ns) { return static_cast<double>(ns) / 1000; }

// Scores and the products with them, of the pairs that are seen: 2 products forward.
double ForwardOperations(const AttentionShape& shape, const MeasuredSlice& slice) {
  const double q_len = slice.q_len;
  const double pairs = q_len * slice.kv_len - q_len * (q_len - 1) / 2;
  return 4.0 * shape.head_size * shape.query_heads * pairs;
}

// Operations a nanosecond are 10^9 a second.
double Rate(double operations, int64_t ns) {
  return ns > 0 ? operations / static_cast<double>(ns) : 0;
}

Json LatencyJson(const AttentionGrid& grid, int64_t PassLatency::*pass) {
  Json json = {{"q_lens", grid.lengths},
               {"kv_lens", grid.lengths},
               {"slice_ns", Json::array()},
               {"launch_ns", grid.launch.*pass}};
  for (const PassLatency& slice : grid.slices) {
    json["slice_ns"].push_back(slice.*pass);
  }
  return json;
}

Json ExchangesJson(const MeasuredProfile& profile) {
  Json json = {{"kind", "COLLECTIVE_KIND_EXCHANGE"},
               {"ranks", profile.ranks},
               {"bytes", Json::array()},
               {"latency_ns", Json::array()}};
  for (const MeasuredExchange& exchange : profile.exchanges) {
    json["bytes"].push_back(exchange.bytes);
    json["latency_ns"].push_back(exchange.latency_ns);
  }
  return json;
}

}  // namespace

std::string ProfileTable::Row(const MeasuredSlice& slice) {
  std::string text;
  if (!std::exchange(has_slices_, true)) {
    text = absl::StrFormat("%8s %8s %14s %14s %10s %10s\n", "q_len", "kv_len",
                           "forward us", "backward us", "GFLOP/s", "backward");
  }
  const double operations = ForwardOperations(shape_, slice);
  const PassLatency& latency = slice.latency;
  // Backward has five products.
  return text + absl::StrFormat("%8d %8d %14.1f %14.1f %10.1f %10.1f\n", slice.q_len,
                                slice.kv_len, Microseconds(latency.forward_ns),
                                Microseconds(latency.backward_ns),
                                Rate(operations, latency.forward_ns),
                                Rate(2.5 * operations, latency.backward_ns));
}

std::string ProfileTable::Row(const MeasuredExchange& exchange) {
  std::string text;
  if (!std::exchange(has_exchanges_, true)) {
    text =
        absl::StrFormat("\n%17s %14s %14s\n", "bytes received", "exchange us", "GB/s");
  }
  return text + absl::StrFormat(
                    "%17d %14.1f %14.3f\n", exchange.bytes,
                    Microseconds(exchange.latency_ns),
                    Rate(static_cast<double>(exchange.bytes), exchange.latency_ns));
}

std::string ProfileJson(const MeasuredProfile& profile, const ProfileLabel& label) {
  Json json = {
      {"name", label.name},
      {"hardware", label.hardware},
      {"kernel", label.kernel},
      {"heads",
       {{"query_heads", profile.shape.query_heads},
        {"kv_heads", profile.shape.kv_heads},
        {"head_size", profile.shape.head_size}}},
      {"element_type",
       absl::StrCat("ELEMENT_TYPE_",
                    absl::AsciiStrToUpper(ElementTypeName(profile.shape.type)))},
      {"forward", LatencyJson(profile.attention, &PassLatency::forward_ns)},
      {"backward", LatencyJson(profile.attention, &PassLatency::backward_ns)},
      {"collectives", Json::array()},
      {"measured_unix_seconds", label.measured_unix_seconds}};
  if (!profile.exchanges.empty()) json["collectives"].push_back(ExchangesJson(profile));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace evenpack::worker
