// What a step takes in a given order of its micro-batches, by simulating its events.
#ifndef EVENPACK_TESTS_SERVER_CORE_PIPELINE_PLACED_STEP_H_
#define EVENPACK_TESTS_SERVER_CORE_PIPELINE_PLACED_STEP_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "server/core/pipeline/cluster_spec.h"
#include "tests/server/core/pipeline/event_simulation.h"

namespace evenpack::testing {

// `order` as Placement has it.
inline int64_t PlacedStepNs(const PipelineShape& shape, SyncDomain sync_domain,
                            std::span<const PassTime> times,
                            std::span<const uint32_t> order) {
  std::vector<std::vector<PassTime>> ranks(times.size() / shape.micro_batches);
  for (size_t i = 0; i < order.size(); ++i) {
    ranks[i / shape.micro_batches].push_back(times[order[i]]);
  }
  EventSimulation simulation(shape, std::move(ranks),
                             sync_domain == SyncDomain::kMicroBatch);
  return simulation.Run().value();
}

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_SERVER_CORE_PIPELINE_PLACED_STEP_H_
