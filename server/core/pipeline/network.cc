#include "server/core/pipeline/network.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

constexpr double kNsPerUs = 1e3;
constexpr double kLeastBytesPerSecond = 1;
constexpr double kMostBytesPerSecond = 1e13;
constexpr uint32_t kMaxGpusPerNode = 1024;

// Microseconds out of place at 8 MiB, 16 MiB, ... 8 GiB.
constexpr size_t kSizes = 11;
constexpr double kLeastBytes = 8.0 * 1024 * 1024;
struct Measured {
  uint32_t ranks;
  std::array<double, kSizes> us;
};
constexpr std::array<Measured, 3> kAllGatherUs = {{
    {2,
     {35.54, 48.39, 74.13, 122.4, 235.8, 410.2, 784.7, 1528.9, 3033.9, 5944.9,
      11821.0}},
    {4,
     {56.11, 59.44, 106.1, 166.9, 305.8, 581.9, 1129.9, 2221.5, 4418.5, 8788.9,
      17515.0}},
    {8,
     {75.68, 87.96, 124.4, 207.0, 354.7, 675.8, 1314.8, 2589.3, 5147.5, 10258.0,
      20442.0}},
}};
constexpr std::array<Measured, 3> kReduceScatterUs = {{
    {2,
     {46.97, 69.32, 97.64, 169.3, 311.0, 590.9, 1109.3, 2033.5, 3919.2, 7608.4,
      15253.0}},
    {4,
     {57.31, 70.43, 106.0, 215.9, 354.9, 675.5, 1303.3, 2509.5, 4842.4, 9519.3,
      18536.0}},
    {8,
     {91.78, 92.99, 116.4, 204.4, 381.3, 721.2, 1401.1, 2739.7, 5393.5, 10639.0,
      20969.0}},
}};

// What a rank receives of the whole, as a share.
double Received(uint32_t ranks) {
  return (static_cast<double>(ranks) - 1) / static_cast<double>(ranks);
}

double MeasuredNs(const Measured& measured, double bytes) {
  size_t low = 0;
  double low_bytes = kLeastBytes;
  while (low + 2 < kSizes && bytes > 2 * low_bytes) {
    ++low;
    low_bytes *= 2;
  }
  const double slope = (measured.us[low + 1] - measured.us[low]) / low_bytes;
  return (measured.us[low] + (bytes - low_bytes) * slope) * kNsPerUs;
}

double WithinNodeNs(Collective collective, uint32_t ranks, double bytes) {
  const auto& table =
      collective == Collective::kReduceScatter ? kReduceScatterUs : kAllGatherUs;
  for (const Measured& measured : table) {
    if (ranks <= measured.ranks) return MeasuredNs(measured, bytes);
  }
  const Measured& largest = table.back();
  return MeasuredNs(largest, bytes) * Received(ranks) / Received(largest.ranks);
}

double RingAcrossNs(const NetworkSpec& network, Collective collective,
                    const GroupPlacement& group, double bytes) {
  const double across_ns = bytes * Received(group.ranks) * kNsPerSecond /
                           (network.inter_node_bytes_per_second * group.per_node);
  if (group.per_node == 1) return across_ns;
  const double within_ns = WithinNodeNs(collective, group.per_node, bytes) *
                           Received(group.ranks) / Received(group.per_node);
  return std::max(across_ns, within_ns);
}

double AllToAllAcrossNs(const NetworkSpec& network, const GroupPlacement& group,
                        double bytes) {
  const double for_one = bytes / group.ranks;
  const double across_ns = for_one * (group.ranks - group.per_node) * kNsPerSecond /
                           network.inter_node_bytes_per_second;
  if (group.per_node == 1) return across_ns;
  const double within_ns =
      WithinNodeNs(Collective::kAllToAll, group.per_node, for_one * group.per_node);
  return std::max(across_ns, within_ns);
}

}  // namespace

absl::Status Validate(const NetworkSpec& network) {
  absl::Status status =
      CheckRange("gpus_per_node", network.gpus_per_node, 1, kMaxGpusPerNode);
  if (!status.ok()) return status;
  const double speed = network.inter_node_bytes_per_second;
  // Written so that NaN fails.
  if (!(speed >= kLeastBytesPerSecond && speed <= kMostBytesPerSecond)) {
    return InvalidField("inter_node_bytes_per_second", speed, "1 to 1e13");
  }
  return absl::OkStatus();
}

GroupPlacement PlaceGroup(const NetworkSpec& network, uint64_t stride, uint32_t ranks) {
  const uint64_t fit = std::max<uint64_t>(network.gpus_per_node / stride, 1);
  return {ranks, static_cast<uint32_t>(std::min<uint64_t>(ranks, fit))};
}

double CollectiveNs(const NetworkSpec& network, Collective collective,
                    const GroupPlacement& group, double bytes) {
  if (group.ranks == 1 || bytes <= 0) return 0;
  if (group.per_node == group.ranks) {
    return WithinNodeNs(collective, group.ranks, bytes);
  }
  if (collective == Collective::kAllToAll) {
    return AllToAllAcrossNs(network, group, bytes);
  }
  return RingAcrossNs(network, collective, group, bytes);
}

double SendNs(const NetworkSpec& network, const GroupPlacement& group, double bytes) {
  if (group.ranks == 1 || bytes <= 0) return 0;
  if (group.per_node < group.ranks) {
    return bytes * kNsPerSecond / network.inter_node_bytes_per_second;
  }
  // By which one of two ranks receives as much.
  return WithinNodeNs(Collective::kAllGather, 2, 2 * bytes);
}

}  // namespace evenpack
