#include "server/core/engine/event_codec.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/core/engine/byte_codec.h"
#include "server/core/engine/field_codec.h"
#include "server/core/engine/state_codec.h"

namespace evenpack {
namespace {

// Accepted documents in columns, without what follows from the rest.
struct AcceptedColumns {
  uint32_t stream = 0;
  uint64_t first_sequence = 0;
  // Document::order of the first, and whether that of each other is one more, as under
  // MergeMode::kArrival, or the same.
  uint64_t first_order = 0;
  bool orders_rise = false;
  std::vector<uint32_t> lengths;
  // Each empty where all documents have the default of Ingest.
  std::vector<uint64_t> ids;
  std::vector<uint32_t> loss_tokens;
  std::vector<uint32_t> sources;
};

// The column of what `field` gives, or none where that is always what `other` gives.
template <typename Number, typename Field, typename Other>
std::vector<Number> Column(std::span<const Document> documents, Field field,
                           Other other) {
  std::vector<Number> column;
  if (std::all_of(documents.begin(), documents.end(), [&](const Document& document) {
        return field(document) == other(document);
      })) {
    return column;
  }
  column.reserve(documents.size());
  for (const Document& document : documents) column.push_back(field(document));
  return column;
}

AcceptedColumns ColumnsOf(const DocumentsAccepted& event) {
  const std::vector<Document>& documents = event.documents;
  AcceptedColumns columns;
  columns.stream = event.stream;
  if (documents.empty()) return columns;
  columns.first_sequence = documents[0].sequence;
  columns.first_order = documents[0].order;
  columns.orders_rise =
      documents.size() > 1 && documents[1].order != documents[0].order;
  columns.lengths.reserve(documents.size());
  for (const Document& document : documents) columns.lengths.push_back(document.length);
  columns.ids = Column<uint64_t>(
      documents, [](const Document& document) { return document.id; },
      [](const Document& document) { return document.sequence; });
  columns.loss_tokens = Column<uint32_t>(
      documents, [](const Document& document) { return document.loss_tokens; },
      [](const Document& document) { return document.length; });
  columns.sources = Column<uint32_t>(
      documents, [](const Document& document) { return document.source; },
      [](const Document&) { return 0U; });
  return columns;
}

bool AreColumns(const AcceptedColumns& columns) {
  const size_t count = columns.lengths.size();
  const auto fits = [count](size_t size) { return size == 0 || size == count; };
  return fits(columns.ids.size()) && fits(columns.loss_tokens.size()) &&
         fits(columns.sources.size()) &&
         columns.first_sequence <= std::numeric_limits<uint64_t>::max() - count;
}

DocumentsAccepted AcceptedOf(const AcceptedColumns& columns) {
  DocumentsAccepted event;
  event.stream = columns.stream;
  event.documents.resize(columns.lengths.size());
  for (size_t i = 0; i < event.documents.size(); ++i) {
    Document& document = event.documents[i];
    document.sequence = columns.first_sequence + i;
    document.id = columns.ids.empty() ? document.sequence : columns.ids[i];
    document.order = columns.first_order + (columns.orders_rise ? i : 0);
    document.stream = columns.stream;
    document.length = columns.lengths[i];
    document.document_length = document.length;
    document.loss_tokens =
        columns.loss_tokens.empty() ? document.length : columns.loss_tokens[i];
    document.source = columns.sources.empty() ? 0 : columns.sources[i];
  }
  return event;
}

}  // namespace

// As in state_codec.cc.

template <typename Coder>
void Code(Coder& coder, MaybeConst<AcceptedColumns> auto& columns) {
  coder.All(columns.stream, columns.first_sequence, columns.first_order,
            columns.orders_rise, columns.lengths, columns.ids, columns.loss_tokens,
            columns.sources);
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<JobCreated> auto& event) {
  coder.All(event.spec);
  coder.Since(6, event.lineage);
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<SkippedRange> auto& range) {
  coder.All(range.stream, range.sequences);
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<JobUpdated> auto& event) {
  coder.All(event.from_step, event.spec, event.skipped, event.new_epoch);
}

void Code(ByteWriter& coder, const DocumentsAccepted& event) {
  coder.All(ColumnsOf(event));
}
void Code(ByteReader& coder, DocumentsAccepted& event) {
  AcceptedColumns columns;
  coder.All(columns);
  if (!AreColumns(columns)) return coder.Fail();
  event = AcceptedOf(columns);
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<StreamEnded> auto& event) {
  coder.All(event.stream);
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<StepDecided> auto& event) {
  coder.All(event.step, event.from_plan, event.admitted, event.merge,
            event.batches_admitted, event.entered, event.released,
            event.left_over_taken, event.left_over_added, event.planned, event.sketch,
            event.search_operations);
  coder.Since(4, event.mean_delay);
  coder.Since(5, event.novelty);
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<DurableMarked> auto& event) {
  coder.All(event.data_parallel_rank, event.steps);
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<JobRestored> auto& event) {
  coder.All(event.state);
}

namespace {

bool ArePieces(std::span<const Document> documents) {
  return std::all_of(documents.begin(), documents.end(), IsPiece);
}

bool IsStep(const Step& step) {
  return step.kind <= StepKind::kDrain &&
         std::all_of(step.micro_batches.begin(), step.micro_batches.end(),
                     [](const MicroBatch& micro_batch) {
                       return micro_batch.sharding <= Sharding::kHybrid &&
                              micro_batch.sharding != Sharding::kAdaptive &&
                              ArePieces(micro_batch.documents);
                     });
}

// Whether some state could have led to the event.
struct EventCheck {
  // Why it may all the same be one that a later program decided.
  absl::Status not_newer = {};

  bool IsSpec(const JobSpec& spec) {
    not_newer = CheckNotNewer(spec);
    return Validate(spec).ok();
  }
  bool operator()(const JobCreated& event) { return IsSpec(event.spec); }
  bool operator()(const JobUpdated& event) {
    return IsSpec(event.spec) &&
           std::all_of(event.skipped.begin(), event.skipped.end(),
                       [&event](const SkippedRange& range) {
                         return range.stream < event.spec.streams.size() &&
                                AreRanges({range.sequences});
                       });
  }
  bool operator()(const DocumentsAccepted& event) const {
    return ArePieces(event.documents);
  }
  bool operator()(const StreamEnded&) const { return true; }
  bool operator()(const StepDecided& event) const {
    return IsStep(event.step) && event.entered.size() == event.released.size() &&
           event.merge.credit.size() == event.merge.out.size() &&
           std::all_of(event.entered.begin(), event.entered.end(), ArePieces) &&
           ArePieces(event.left_over_added) &&
           std::all_of(event.planned.begin(), event.planned.end(), IsStep);
  }
  bool operator()(const DurableMarked&) const { return true; }
  bool operator()(const JobRestored& event) {
    const absl::Status status = DecodeState(event.state).status();
    if (absl::IsFailedPrecondition(status)) not_newer = status;
    return status.ok();
  }
};

// Reads the alternative of this number.
template <size_t kNumber = 0>
void CodeAlternative(ByteReader& coder, size_t number, Event& event) {
  if constexpr (kNumber < std::variant_size_v<Event>) {
    if (number == kNumber) return Code(coder, event.emplace<kNumber>());
    CodeAlternative<kNumber + 1>(coder, number, event);
  } else {
    coder.Fail();
  }
}

// About as many bytes as the event takes.
struct SizeEstimate {
  static constexpr size_t kAnyEvent = 512;

  size_t operator()(const auto&) const { return kAnyEvent; }
  size_t operator()(const DocumentsAccepted& event) const {
    return kAnyEvent + event.documents.size() * sizeof(uint32_t);
  }
  size_t operator()(const StepDecided& event) const {
    size_t documents = event.left_over_added.size();
    for (const MicroBatch& micro_batch : event.step.micro_batches) {
      documents += micro_batch.documents.size();
    }
    for (const std::vector<Document>& queue : event.entered) documents += queue.size();
    return kAnyEvent + documents * sizeof(Document);
  }
};

}  // namespace

std::string EncodeEvent(const Event& event) {
  ByteWriter writer;
  writer.Reserve(std::visit(SizeEstimate(), event));
  writer.All(kEventFormatVersion);
  writer.Word(event.index(), 1);
  std::visit([&writer](const auto& held) { writer.All(held); }, event);
  return std::move(writer).bytes();
}

absl::StatusOr<Event> DecodeEvent(std::string_view bytes) {
  ByteReader reader(bytes);
  uint32_t version = 0;
  reader.All(version);
  if (!reader.ok()) {
    return absl::DataLossError(
        absl::StrCat("event: ", bytes.size(), " bytes are too few for one"));
  }
  if (version < kOldestEventFormatVersion || version > kEventFormatVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("event: format version ", version, " is not accepted; accepted: ",
                     kOldestEventFormatVersion, " to ", kEventFormatVersion));
  }
  reader.set_version(version);
  Event event;
  CodeAlternative(reader, reader.Word(1), event);
  EventCheck check;
  const bool is_event =
      reader.ok() && reader.AtEnd() && std::visit(std::ref(check), event);
  if (!check.not_newer.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("event: ", check.not_newer.message()));
  }
  if (!is_event) {
    return absl::DataLossError(
        absl::StrCat("event: its ", bytes.size(), " bytes are those of no event"));
  }
  return event;
}

}  // namespace evenpack
