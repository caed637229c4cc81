#include "server/core/engine/admission_rule.h"

#include <algorithm>

#include "server/core/engine/waiting.h"

namespace evenpack {
namespace {

bool HasDueDocument(const JobState& state) {
  const uint64_t due = DueBeforeBatch(state.spec, state.position.batches_admitted);
  if (due == 0) return false;
  bool found = false;
  ForEachWaiting(state.waiting, [&found, due](const Document& document) {
    found = found || document.batch < due;
  });
  return found;
}

bool IsOverBacklogLimit(const JobState& state) {
  const auto batch = static_cast<double>(GlobalBatchTokens(state.spec));
  return static_cast<double>(WaitingTokens(state.waiting)) >
         state.spec.backlog_limit * batch;
}

}  // namespace

uint64_t DueBeforeBatch(const JobSpec& spec, uint64_t batches) {
  if (!spec.max_delay.has_value()) return 0;
  const uint64_t next = batches + BatchesPerWindow(spec) - 1;
  return next > *spec.max_delay ? next - *spec.max_delay : 0;
}

uint64_t AdmissionTarget(const JobState& state) {
  const uint64_t window = WindowTokens(state.spec);
  if (IsVariableLength(state.spec.policy.kind)) return window;
  return window - std::min(window, WaitingTokens(state.waiting));
}

bool AdmitsNothing(const JobState& state) {
  if (HasDueDocument(state)) return true;
  if (IsVariableLength(state.spec.policy.kind)) return IsOverBacklogLimit(state);
  return AdmissionTarget(state) == 0;
}

bool BufferIsFull(const JobState& state, size_t stream) {
  const JobSpec& spec = state.spec;
  const DocumentFifo& buffer = state.streams[stream].buffer;
  const auto reached = [](uint64_t held, uint64_t limit) {
    return limit != 0 && held >= limit;
  };
  const uint64_t max_tokens =
      spec.max_buffered_tokens != 0 ? spec.max_buffered_tokens : 4 * WindowTokens(spec);
  return reached(buffer.tokens(), max_tokens) ||
         reached(buffer.size(), spec.max_buffered_documents) ||
         reached(buffer.size() * kBufferedDocumentBytes, spec.max_buffered_bytes);
}

uint64_t BufferedTokens(const JobState& state) {
  uint64_t tokens = 0;
  for (const StreamState& stream : state.streams) tokens += stream.buffer.tokens();
  return tokens;
}

bool MustWait(const JobState& state, uint64_t target) {
  const bool all_ended =
      std::all_of(state.streams.begin(), state.streams.end(),
                  [](const StreamState& stream) { return stream.ended; });
  return !all_ended && BufferedTokens(state) < target;
}

}  // namespace evenpack
