#include "server/core/engine/state_codec.h"

#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/core/digest/digest_bytes.h"
#include "server/core/engine/byte_codec.h"
#include "server/core/engine/field_codec.h"
#include "server/core/engine/state_check.h"

namespace evenpack {
namespace {

constexpr std::string_view kMagic = "EVPSTATE";

}  // namespace

// The field lists are found by their argument's type, so they are not in the unnamed
// namespace; nothing outside this file names them.

void Code(ByteWriter& coder, const DocumentFifo& fifo) {
  coder.All(std::vector<Document>(fifo.view().begin(), fifo.view().end()));
}
void Code(ByteReader& coder, DocumentFifo& fifo) {
  std::vector<Document> documents;
  coder.All(documents);
  fifo.PushBack(documents);
}

void Code(ByteWriter& coder, const ResendWindow& window) { coder.All(window.Hashes()); }
void Code(ByteReader& coder, ResendWindow& window) {
  std::vector<uint64_t> hashes;
  coder.All(hashes);
  if (hashes.size() > ResendWindow::kCapacity) return coder.Fail();
  window = ResendWindow(hashes);
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<StreamState> auto& stream) {
  coder.All(stream.buffer, stream.next_sequence, stream.ended, stream.resends,
            stream.skipped);
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<Position> auto& position) {
  coder.All(position.next_step, position.batches_admitted, position.documents_admitted,
            position.digest, position.merge, position.sketch);
  coder.Since(5, position.mean_delay);
  coder.Since(6, position.novelty);
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<Waiting> auto& waiting) {
  coder.All(waiting.queues, waiting.left_over, waiting.planned);
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<StepRecord> auto& record) {
  coder.All(record.step, record.from_plan, record.before, record.admitted,
            record.entered, record.released, record.left_over_positions,
            record.left_over_taken, record.left_over_added);
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<UpdateRecord> auto& record) {
  coder.All(record.from_step, record.spec_before, record.waiting_before);
}

void Code(ByteWriter& coder, const HistoryRecord& record) {
  coder.Word(record.index(), 1);
  std::visit([&coder](const auto& held) { Code(coder, held); }, record);
}
void Code(ByteReader& coder, HistoryRecord& record) {
  switch (coder.Word(1)) {
    case 0:
      return Code(coder, record.emplace<StepRecord>());
    case 1:
      return Code(coder, record.emplace<UpdateRecord>());
    default:
      return coder.Fail();
  }
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<JobState> auto& state) {
  coder.All(state.created, state.spec, state.epoch, state.streams, state.waiting,
            state.position, state.durable, state.checkpoints, state.history);
  coder.Since(7, state.lineage);
}

namespace {

Digest128 DigestOfBytes(std::string_view bytes) {
  DigestBuilder builder;
  builder.Text(bytes);
  return builder.Finish();
}

}  // namespace

std::string EncodeState(const JobState& state) {
  // All in one place: a large job's state is hundreds of megabytes.
  ByteWriter writer;
  for (const char letter : kMagic) writer.All(letter);
  writer.All(kStateFormatVersion);
  writer.All(state);
  std::string bytes = std::move(writer).bytes();
  bytes += DigestBytes(DigestOfBytes(bytes));
  return bytes;
}

absl::StatusOr<JobState> DecodeState(std::string_view bytes) {
  if (bytes.size() < kMagic.size() + sizeof(uint32_t) + kDigestBytes ||
      !bytes.starts_with(kMagic)) {
    return absl::DataLossError(
        absl::StrCat("state: ", bytes.size(),
                     " bytes that don't start as a state does; accepted: what a "
                     "checkpoint holds, whole"));
  }
  // The digest first: a damaged version number is damage, not a later version.
  const std::string_view hashed = bytes.substr(0, bytes.size() - kDigestBytes);
  if (bytes.substr(hashed.size()) != DigestBytes(DigestOfBytes(hashed))) {
    return absl::DataLossError(absl::StrCat("state: the checksum of its ", bytes.size(),
                                            " bytes does not match"));
  }
  ByteReader reader(hashed.substr(kMagic.size()));
  uint32_t version = 0;
  reader.All(version);
  if (version < kOldestStateFormatVersion || version > kStateFormatVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("state: format version ", version, " is not accepted; accepted: ",
                     kOldestStateFormatVersion, " to ", kStateFormatVersion));
  }
  reader.set_version(version);
  JobState state;
  reader.All(state);
  if (!reader.ok() || !reader.AtEnd()) {
    return absl::DataLossError("state: its fields don't fill its bytes");
  }
  if (absl::Status status = CheckState(state); !status.ok()) return status;
  return state;
}

}  // namespace evenpack
