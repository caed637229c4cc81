#include "server/control/first_needed.h"

#include <algorithm>
#include <variant>

#include "server/core/engine/waiting.h"

namespace evenpack {

std::vector<uint64_t> FirstNeeded(const JobState& state) {
  std::vector<uint64_t> first;
  first.reserve(state.streams.size());
  for (const StreamState& stream : state.streams) {
    // In the order in which they came, whatever was put back to the front.
    first.push_back(stream.buffer.empty() ? stream.next_sequence
                                          : stream.buffer.front().sequence);
  }
  const auto need = [&first](const Document& document) {
    uint64_t& of_stream = first[document.stream];
    of_stream = std::min(of_stream, document.sequence);
  };
  ForEachWaiting(state.waiting, need);
  for (const HistoryRecord& record : state.history) {
    if (const auto* update = std::get_if<UpdateRecord>(&record)) {
      ForEachWaiting(update->waiting_before, need);
      continue;
    }
    for (const MicroBatch& micro_batch :
         std::get<StepRecord>(record).step.micro_batches) {
      for (const Document& document : micro_batch.documents) need(document);
    }
  }
  return first;
}

}  // namespace evenpack
