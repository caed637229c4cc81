// What collectives between GPUs take: measured within a node, by bandwidth across
// nodes.
#ifndef EVENPACK_SERVER_CORE_PIPELINE_NETWORK_H_
#define EVENPACK_SERVER_CORE_PIPELINE_NETWORK_H_

#include <cstdint>

#include "absl/status/status.h"

namespace evenpack {

inline constexpr double kNsPerSecond = 1e9;

struct NetworkSpec {
  // GPUs that reach each other over NVLink, 1 to 1,024.
  uint32_t gpus_per_node = 8;
  // What one GPU sends, and receives at the same time, across nodes: 45 GB/s is what a
  // 400 Gb/s port carries. 1 to 10^13.
  double inter_node_bytes_per_second = 45e9;

  friend bool operator==(const NetworkSpec&, const NetworkSpec&) = default;
};

// INVALID_ARGUMENT naming the first bad field.
absl::Status Validate(const NetworkSpec& network);

// Where the ranks of a group are. GPUs are numbered through the nodes; inner kinds of
// parallelism have neighbouring numbers: TP, then CP, then PP, then DP (WLB-LLM section
// 7.1). A kind of n ranks within which `stride` GPUs lie between one rank and the next
// has min(n, gpus_per_node / stride) of them in a node, at least one.
struct GroupPlacement {
  uint32_t ranks = 1;
  uint32_t per_node = 1;

  friend bool operator==(const GroupPlacement&, const GroupPlacement&) = default;
};
GroupPlacement PlaceGroup(const NetworkSpec& network, uint64_t stride, uint32_t ranks);

enum class Collective : uint8_t {
  kAllGather,      // bytes: of the gathered whole
  kReduceScatter,  // bytes: of one rank's whole input
  kAllToAll,       // bytes: of what one rank has for all
};

// Nanoseconds of one collective; 0 for a group of one rank or for no bytes.
//
// Within a node: nccl-tests on 2, 4 and 8 H100s over NVLink, 8 MiB to 8 GiB
// (`profiles/nccl_perf.csv` of DistCA, see docs/simulation.md): straight lines between
// the measured sizes, the first and the last line going on beyond them. A number of
// ranks that was not measured takes the time of the next larger one, and beyond 8 that
// of 8 in proportion to what a rank receives, (n - 1) / n. An all-to-all takes what an
// all-gather does by which a rank receives as much.
//
// Across nodes a ring passes through the port of each of the group's GPUs in a node, so
// bytes * (n - 1) / n go at per_node times the bandwidth of one; NVLink carries the
// same ring at the same time, and the slower of the two counts. In an all-to-all each
// rank has bytes / n for every other: (n - per_node) of these leave the node through
// its own port, (per_node - 1) stay on NVLink, and again the slower counts.
double CollectiveNs(const NetworkSpec& network, Collective collective,
                    const GroupPlacement& group, double bytes);

// Nanoseconds until `bytes` are on the next rank of a group, of which all send at once:
// over NVLink, where the whole group is in one node, else across nodes.
double SendNs(const NetworkSpec& network, const GroupPlacement& group, double bytes);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PIPELINE_NETWORK_H_
