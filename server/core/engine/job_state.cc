#include "server/core/engine/job_state.h"

#include <algorithm>
#include <utility>

namespace evenpack {

uint64_t DurableSteps(const JobState& state) {
  return *std::min_element(state.durable.begin(), state.durable.end());
}

const Step* FindStep(const JobState& state, uint64_t index) {
  for (const HistoryRecord& record : state.history) {
    const auto* held = std::get_if<StepRecord>(&record);
    if (held != nullptr && held->step.index == index) return &held->step;
  }
  return nullptr;
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

std::vector<uint32_t> NextLengths(const JobState& state, uint64_t count) {
  std::vector<uint32_t> lengths;
  lengths.reserve(count);
  MergeReader reader = ReadMerge(state);
  while (lengths.size() < count) {
    const Document* const document = reader.Next();
    if (document == nullptr) break;
    lengths.push_back(document->length);
  }
  return lengths;
}

}  // namespace evenpack
