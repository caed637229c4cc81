#include "server/core/engine/ingest.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"
#include "server/core/engine/job_layout.h"
#include "server/core/engine/stream_index.h"

namespace evenpack {
namespace {

absl::Status CheckColumn(absl::string_view name, size_t size, size_t expected) {
  if (size == 0 || size == expected) return absl::OkStatus();
  return InvalidField(name, absl::StrCat(size, " values"),
                      absl::StrCat("none, or as many as lengths: ", expected));
}

absl::Status CheckColumns(const Ingest& command) {
  const size_t count = command.lengths.size();
  for (const absl::Status& status :
       {CheckColumn("ids", command.ids.size(), count),
        CheckColumn("loss_tokens", command.loss_tokens.size(), count),
        CheckColumn("sources", command.sources.size(), count)}) {
    if (!status.ok()) return status;
  }
  if (command.first_sequence > std::numeric_limits<uint64_t>::max() - count) {
    return InvalidField("first_sequence", command.first_sequence,
                        "a number that the batch does not carry past 2^64-1");
  }
  return absl::OkStatus();
}

// Why documents may not be longer.
std::string WhyNoLonger(const JobSpec& spec) {
  if (spec.split_overlong) {
    return LongestAccepted(spec) == kMaxDocumentLength
               ? ""
               : absl::StrCat(" (", kMaxPieces, " pieces)");
  }
  return LongestDocument(spec) == spec.max_length
             ? " (max_length; longer with split_overlong)"
             : " (what max_length holds with padding; longer with split_overlong)";
}

// Only new documents, from `first_new` on, are held to the spec: what is sent again may
// have been accepted under another, and what is skipped is in no micro-batch.
absl::Status CheckNewDocuments(const JobSpec& spec, const SequenceRanges& skipped,
                               const Ingest& command, size_t first_new) {
  const uint32_t longest = LongestAccepted(spec);
  for (size_t i = first_new; i < command.lengths.size(); ++i) {
    const uint32_t length = command.lengths[i];
    const bool fits = length <= longest || (length <= kMaxDocumentLength &&
                                            IsIn(skipped, command.first_sequence + i));
    if (length < 1 || !fits) {
      return InvalidField(
          absl::StrCat("lengths[", i, "]"), length,
          absl::StrCat("1 to ", longest, WhyNoLonger(spec), "; it would be document ",
                       command.first_sequence + i, " of the stream"));
    }
    if (!command.loss_tokens.empty() && command.loss_tokens[i] > length) {
      return InvalidField(absl::StrCat("loss_tokens[", i, "]"), command.loss_tokens[i],
                          absl::StrCat("0 to the document's length, ", length));
    }
  }
  return absl::OkStatus();
}

std::vector<Document> DocumentsOf(const Ingest& command, uint32_t stream) {
  std::vector<Document> documents;
  documents.reserve(command.lengths.size());
  for (size_t i = 0; i < command.lengths.size(); ++i) {
    Document& document = documents.emplace_back();
    document.sequence = command.first_sequence + i;
    document.id = command.ids.empty() ? document.sequence : command.ids[i];
    document.stream = stream;
    document.length = command.lengths[i];
    document.document_length = command.lengths[i];
    document.loss_tokens =
        command.loss_tokens.empty() ? command.lengths[i] : command.loss_tokens[i];
    document.source = command.sources.empty() ? 0 : command.sources[i];
  }
  return documents;
}

uint64_t DocumentsAcceptedSoFar(const JobState& state) {
  uint64_t count = 0;
  for (const StreamState& stream : state.streams) count += stream.next_sequence;
  return count;
}

}  // namespace

absl::StatusOr<DocumentsAccepted> DecideIngest(const JobState& state,
                                               const Ingest& command) {
  const absl::StatusOr<uint32_t> index = FindStream(state.spec, command.stream);
  if (!index.ok()) return index.status();
  if (absl::Status status = CheckColumns(command); !status.ok()) {
    return status;
  }
  const StreamState& stream = state.streams[*index];
  const uint64_t next = stream.next_sequence;
  if (command.first_sequence > next) {
    return absl::OutOfRangeError(absl::StrCat(
        "first_sequence: ", command.first_sequence, " leaves a gap in stream '",
        command.stream, "'; accepted: up to ", next, ", the next number expected"));
  }
  const auto known = static_cast<size_t>(
      std::min<uint64_t>(next - command.first_sequence, command.lengths.size()));
  if (absl::Status status =
          CheckNewDocuments(state.spec, stream.skipped, command, known);
      !status.ok()) {
    return status;
  }
  std::vector<Document> documents = DocumentsOf(command, *index);
  const std::span<const Document> resent(documents.data(), known);
  if (const size_t at = stream.resends.FirstDifference(resent, next); at < known) {
    return absl::AbortedError(absl::StrCat(
        "sequence ", resent[at].sequence, " of stream '", command.stream,
        "' was accepted with other content than is sent now; accepted: the same "
        "documents again, or new ones from ",
        next));
  }
  documents.erase(documents.begin(), documents.begin() + static_cast<ptrdiff_t>(known));
  if (stream.ended && !documents.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("stream '", command.stream, "' ended after ", next,
                     " documents; accepted: none after its end"));
  }
  if (state.spec.merge == MergeMode::kArrival) {
    uint64_t order = DocumentsAcceptedSoFar(state);
    for (Document& document : documents) document.order = order++;
  }
  return DocumentsAccepted{*index, std::move(documents)};
}

absl::StatusOr<StreamEnded> DecideEndOfStream(const JobState& state,
                                              const EndOfStream& command) {
  const absl::StatusOr<uint32_t> index = FindStream(state.spec, command.stream);
  if (!index.ok()) return index.status();
  const uint64_t next = state.streams[*index].next_sequence;
  if (command.documents != next) {
    return absl::OutOfRangeError(absl::StrCat(
        "documents: ", command.documents, " is not how many stream '", command.stream,
        "' has; accepted: ", next, ", the number accepted so far"));
  }
  return StreamEnded{*index};
}

}  // namespace evenpack
