#include "server/core/engine/job_state.h"

#include <algorithm>
#include <utility>

namespace evenpack {

uint64_t DurableSteps(const JobState& state) {
  return *std::min_element(state.durable.begin(), state.durable.end());
}

uint64_t RetainedSteps(const JobState& state) {
  // Steps are numbered without gaps, so the first one that is retained tells.
  for (const HistoryRecord& record : state.history) {
    if (const auto* first = std::get_if<StepRecord>(&record); first != nullptr) {
      return state.position.next_step - first->step.index;
    }
  }
  return 0;
}

bool IsDrained(const JobState& state) {
  return IsEmpty(state.waiting) &&
         std::all_of(state.streams.begin(), state.streams.end(),
                     [](const StreamState& stream) {
                       return stream.ended && stream.buffer.empty();
                     });
}

MergeReader ReadMerge(const JobState& state) {
  std::vector<MergeInput> inputs;
  inputs.reserve(state.streams.size());
  for (const StreamState& stream : state.streams) {
    inputs.push_back({stream.buffer.view(), stream.ended});
  }
  return {state.spec.merge, state.spec.streams, std::move(inputs),
          state.position.merge};
}

}  // namespace evenpack
