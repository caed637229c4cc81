#include "server/core/packing/last_steps.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "server/core/packing/assignment.h"
#include "server/core/packing/bin_tree.h"

namespace evenpack {
namespace {

// Numbers of steps that are compared.
constexpr int kNumbers = 3;
// Where more steps are left the end is far, and each would take long to weigh.
constexpr size_t kMostSteps = 16;

// The micro-batches' loads; none where a document finds no room.
std::optional<std::vector<int64_t>> LoadsOf(std::span<const LeftDocument> longest_first,
                                            size_t bins, const Capacity& capacity,
                                            const LeaningWorkload& workload) {
  BinTree tree(bins);
  std::vector<int64_t> attention(bins, 0);
  std::vector<int64_t> lengths(bins, 0);
  std::vector<uint32_t> documents(bins, 0);
  std::vector<int64_t> loads(bins, 0);
  for (const LeftDocument& document : longest_first) {
    const int64_t room = int64_t{capacity.tokens} - document.tokens;
    const uint32_t bin = tree.LeastWithin(room);
    if (bin == kLeftOver) return std::nullopt;
    attention[bin] += document.attention_ns;
    lengths[bin] += document.tokens;
    loads[bin] =
        attention[bin] + workload.LinearNs(static_cast<uint64_t>(lengths[bin]));
    if (++documents[bin] == capacity.documents) {
      tree.Close(bin);
    } else {
      tree.Set(bin, loads[bin], lengths[bin]);
    }
  }
  return loads;
}

// By how much micro-batches are lighter than the heaviest of their step.
absl::int128 GapsOf(std::vector<int64_t> loads, size_t micro_batches) {
  std::sort(loads.begin(), loads.end(), std::greater<>());
  absl::int128 gaps = 0;
  for (size_t b = 0; b < loads.size(); ++b) {
    gaps += loads[b / micro_batches * micro_batches] - loads[b];
  }
  return gaps;
}

}  // namespace

absl::int128 ExcessOfLastSteps(std::span<const LeftDocument> longest_first,
                               const LeftRest& rest, const StepTerms& terms,
                               const LeaningWorkload& workload) {
  absl::int128 tokens = rest.tokens;
  for (const LeftDocument& document : longest_first) tokens += document.tokens;
  if (tokens == 0) return 0;
  const absl::int128 room = absl::int128(terms.capacity.tokens) * terms.micro_batches;
  auto steps = static_cast<size_t>((tokens + room - 1) / room);
  if (steps > kMostSteps) return 0;
  std::optional<absl::int128> least;
  for (int compared = 0; compared < kNumbers; ++steps) {
    const size_t bins = steps * terms.micro_batches;
    std::optional<std::vector<int64_t>> loads =
        LoadsOf(longest_first, bins, terms.capacity, workload);
    if (loads.has_value()) {
      const absl::int128 gaps = GapsOf(*std::move(loads), terms.micro_batches);
      const absl::int128 excess = std::max<absl::int128>(gaps - rest.work_ns, 0);
      least = std::min(least.value_or(excess), excess);
      ++compared;
    } else if (bins >= longest_first.size()) {
      break;
    }
  }
  return least.value_or(0);
}

}  // namespace evenpack
