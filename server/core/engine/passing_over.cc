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

// Of all streams: whoever asks for the job, or for a list with it, is told of them all.
absl::Status CheckCount(size_t ranges) {
  if (ranges <= kMaxSkippedRanges) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("skip: the job would have more than ", kMaxSkippedRanges,
                   " skipped ranges; accepted: fewer, or ranges that touch"));
}

size_t CountOf(const JobState& state) {
  size_t count = 0;
  for (const StreamState& stream : state.streams) count += stream.skipped.size();
  return count;
}

absl::Status CheckCounts(const JobState& state, std::span<const SkippedRange> added) {
  std::vector<SequenceRanges> ranges;
  ranges.reserve(state.streams.size());
  for (const StreamState& stream : state.streams) ranges.push_back(stream.skipped);
  size_t count = CountOf(state);
  for (const SkippedRange& range : added) {
    SequenceRanges& of_stream = ranges[range.stream];
    count -= of_stream.size();
    AddRange(range.sequences, of_stream);
    count += of_stream.size();
    if (absl::Status status = CheckCount(count); !status.ok()) return status;
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

absl::Status CheckSkipped(const JobState& state) { return CheckCount(CountOf(state)); }

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
