#include "server/core/engine/passing_over.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"
#include "server/core/engine/stream_index.h"
#include "server/core/engine/waiting.h"

namespace evenpack {
namespace {

absl::Status CheckCount(const StreamSpec& stream, const SequenceRanges& skipped) {
  if (skipped.size() <= kMaxSkippedRanges) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "skip: stream '", stream.name, "' would have more than ", kMaxSkippedRanges,
      " skipped ranges; accepted: fewer, or ranges that touch"));
}

absl::Status CheckCounts(const JobState& state, std::span<const SkippedRange> added) {
  std::vector<SequenceRanges> ranges;
  ranges.reserve(state.streams.size());
  for (const StreamState& stream : state.streams) ranges.push_back(stream.skipped);
  for (const SkippedRange& range : added) {
    SequenceRanges& of_stream = ranges[range.stream];
    AddRange(range.sequences, of_stream);
    absl::Status status = CheckCount(state.spec.streams[range.stream], of_stream);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<SkippedRange>> ReadRanges(
    const JobState& state, std::span<const DocumentRange> ranges) {
  // Each takes a while, and the job waits.
  if (ranges.size() > kMaxSkippedRanges) {
    return InvalidField("skip", absl::StrCat(ranges.size(), " ranges"),
                        absl::StrCat("up to ", kMaxSkippedRanges, " at once"));
  }
  std::vector<SkippedRange> skipped;
  skipped.reserve(ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    const DocumentRange& range = ranges[i];
    const absl::StatusOr<uint32_t> stream = FindStream(state.spec, range.stream);
    if (!stream.ok()) return stream.status();
    constexpr uint64_t kLast = std::numeric_limits<uint64_t>::max() - 1;
    absl::Status status = CheckRange(absl::StrCat("skip[", i, "].first_sequence"),
                                     range.first_sequence, 0, kLast);
    if (!status.ok()) return status;
    const uint64_t most = kLast + 1 - range.first_sequence;
    if (range.documents < 1 || range.documents > most) {
      return InvalidField(absl::StrCat("skip[", i, "].documents"), range.documents,
                          absl::StrCat("1 to ", most));
    }
    skipped.push_back(
        {*stream, {range.first_sequence, range.first_sequence + range.documents}});
  }
  if (absl::Status status = CheckCounts(state, skipped); !status.ok()) return status;
  return skipped;
}

absl::Status CheckSkipped(const JobState& state) {
  for (size_t s = 0; s < state.streams.size(); ++s) {
    absl::Status status = CheckCount(state.spec.streams[s], state.streams[s].skipped);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

void AddSkipped(std::span<const SkippedRange> skipped, JobState& state) {
  for (const SkippedRange& range : skipped) {
    AddRange(range.sequences, state.streams[range.stream].skipped);
  }
}

void PassOver(JobState& state) {
  const auto is_skipped = [&state](const Document& document) {
    return IsIn(state.streams[document.stream].skipped, document.sequence);
  };
  if (std::none_of(state.streams.begin(), state.streams.end(),
                   [](const StreamState& stream) { return !stream.skipped.empty(); })) {
    return;
  }
  for (StreamState& stream : state.streams) stream.buffer.EraseIf(is_skipped);
  Waiting& waiting = state.waiting;
  for (DocumentFifo& queue : waiting.queues) queue.EraseIf(is_skipped);
  std::erase_if(waiting.left_over, is_skipped);
  size_t planned = 0;
  for (Step& step : waiting.planned) {
    for (MicroBatch& micro_batch : step.micro_batches) {
      planned += std::erase_if(micro_batch.documents, is_skipped);
    }
  }
  // A plan with holes is none.
  if (planned > 0) waiting = Rearrange(waiting, state.spec.policy);
}

}  // namespace evenpack
