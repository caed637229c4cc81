#include "server/core/packing/last_steps.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "server/core/packing/assign_to_lightest.h"
#include "server/core/packing/assignment.h"
#include "server/core/packing/bin_contents.h"

namespace evenpack {
namespace {

// Numbers of steps that are compared.
constexpr int kNumbers = 3;
// Where more steps are left the end is far, and each would take long to weigh.
constexpr size_t kMostSteps = 16;

// The loads of so many micro-batches; none where a document finds no room.
std::optional<std::vector<int64_t>> LoadsOf(const WorkList& longest_first, size_t bins,
                                            const Capacity& capacity,
                                            const LeaningWorkload& workload) {
  const std::vector<uint32_t> assigned =
      AssignToLightest(longest_first, bins, capacity, workload);
  if (std::ranges::find(assigned, kLeftOver) != assigned.end()) return std::nullopt;
  std::vector<int64_t> loads;
  loads.reserve(bins);
  for (const BinContents& bin :
       ContentsOf(longest_first, assigned, bins, capacity.padding, workload)) {
    loads.push_back(bin.load_ns);
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

absl::int128 ExcessOfLastSteps(const WorkList& longest_first, const LeftRest& rest,
                               const StepTerms& terms,
                               const LeaningWorkload& workload) {
  absl::int128 tokens = rest.tokens;
  for (const Document* document : longest_first) {
    tokens += PaddedLength(terms.capacity.padding, document->length);
  }
  if (tokens == 0) return 0;
  const absl::int128 room = absl::int128(terms.capacity.tokens) * terms.micro_batches;
  auto steps = static_cast<size_t>((tokens + room - 1) / room);
  if (steps > kMostSteps) return 0;
  std::optional<absl::int128> least;
  for (int compared = 0; compared < kNumbers; ++steps) {
    const size_t bins = steps * terms.micro_batches;
    std::optional<std::vector<int64_t>> loads =
        LoadsOf(longest_first, bins, terms.capacity, workload);
    // One for each document is room enough.
    if (!loads.has_value()) continue;
    const absl::int128 gaps = GapsOf(*std::move(loads), terms.micro_batches);
    const absl::int128 excess = std::max<absl::int128>(gaps - rest.work_ns, 0);
    least = std::min(least.value_or(excess), excess);
    ++compared;
  }
  return *least;
}

}  // namespace evenpack
