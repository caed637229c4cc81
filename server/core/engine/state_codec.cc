#include "server/core/engine/state_codec.h"

#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/core/engine/byte_codec.h"
#include "server/core/engine/state_check.h"

namespace evenpack {
namespace {

constexpr std::string_view kMagic = "EVPSTATE";
constexpr size_t kDigestBytes = 16;

}  // namespace

// The field lists are found by their argument's type, so they are not in the unnamed
// namespace; nothing outside this file names them.

template <typename Coder>
void Code(Coder& coder, MaybeConst<Digest128> auto& digest) {
  coder.All(digest.low, digest.high);
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<Document> auto& document) {
  coder.All(document.sequence, document.id, document.order, document.batch,
            document.stream, document.length, document.offset, document.document_length,
            document.loss_tokens, document.source);
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<MicroBatch> auto& micro_batch) {
  coder.All(micro_batch.documents, micro_batch.tokens, micro_batch.padding,
            micro_batch.workload_ns, micro_batch.sharding);
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<Step> auto& step) {
  coder.All(step.index, step.epoch, step.kind, step.micro_batches, step.digest);
}

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

void Code(ByteWriter& coder, const LengthCurve& curve) {
  coder.All(curve.max_tokens(), curve.knot_shift(), curve.values());
}
void Code(ByteReader& coder, LengthCurve& curve) {
  uint32_t max_tokens = 0;
  int knot_shift = 0;
  std::vector<int64_t> values;
  coder.All(max_tokens, knot_shift, values);
  auto created = LengthCurve::Create(max_tokens, knot_shift, std::move(values));
  if (!created.ok()) return coder.Fail();
  curve = *std::move(created);
}

void Code(ByteWriter& coder, const WorkloadTable& table) {
  coder.All(table.attention(), table.linear());
}
void Code(ByteReader& coder, WorkloadTable& table) {
  LengthCurve attention;
  LengthCurve linear;
  coder.All(attention, linear);
  auto created = WorkloadTable::Create(std::move(attention), std::move(linear));
  if (!created.ok()) return coder.Fail();
  table = *std::move(created);
}

void Code(ByteWriter& coder, const KernelLatencyTable& table) {
  coder.All(table.q_lens(), table.kv_lens(), table.block_ps(), table.launch_ns());
}
void Code(ByteReader& coder, KernelLatencyTable& table) {
  std::vector<uint32_t> q_lens;
  std::vector<uint32_t> kv_lens;
  std::vector<int64_t> block_ps;
  int64_t launch_ns = 0;
  coder.All(q_lens, kv_lens, block_ps, launch_ns);
  auto created = KernelLatencyTable::FromGrid(std::move(q_lens), std::move(kv_lens),
                                              std::move(block_ps), launch_ns);
  if (!created.ok()) return coder.Fail();
  table = *std::move(created);
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<StreamSpec> auto& stream) {
  coder.All(stream.name, stream.weight);
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<PolicySpec> auto& policy) {
  coder.All(policy.kind, policy.version, policy.window_batches, policy.queue_thresholds,
            policy.split_documents);
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<JobSpec> auto& spec) {
  coder.All(spec.streams, spec.merge, spec.micro_batches, spec.data_parallel,
            spec.context_parallel, spec.window, spec.max_length, spec.policy,
            spec.split_overlong, spec.max_delay, spec.backlog_limit, spec.sharding,
            spec.retain_checkpoints, spec.max_steps_ahead, spec.workload,
            spec.kernel_latency);
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<MergeCursor> auto& cursor) {
  coder.All(cursor.credit, cursor.out);
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<StreamState> auto& stream) {
  coder.All(stream.buffer, stream.next_sequence, stream.ended, stream.resends);
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<Position> auto& position) {
  coder.All(position.next_step, position.batches_admitted, position.documents_admitted,
            position.digest, position.merge);
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
}

namespace {

Digest128 DigestOfBytes(std::string_view bytes) {
  DigestBuilder builder;
  builder.Text(bytes);
  return builder.Finish();
}

std::string EncodeDigest(const Digest128& digest) {
  ByteWriter writer;
  writer.All(digest);
  return writer.bytes();
}

}  // namespace

std::string EncodeState(const JobState& state) {
  ByteWriter body;
  body.All(state);
  ByteWriter version;
  version.All(kStateFormatVersion);
  std::string bytes = std::string(kMagic) + version.bytes() + body.bytes();
  bytes += EncodeDigest(DigestOfBytes(bytes));
  return bytes;
}

absl::StatusOr<JobState> DecodeState(std::string_view bytes) {
  if (bytes.size() < kMagic.size() + sizeof(uint32_t) + kDigestBytes ||
      bytes.substr(0, kMagic.size()) != kMagic) {
    return absl::DataLossError(
        absl::StrCat("state: ", bytes.size(),
                     " bytes that don't start as a state does; accepted: what "
                     "EncodeState wrote, whole"));
  }
  // The digest first: a damaged version number is damage, not a later version.
  const std::string_view hashed = bytes.substr(0, bytes.size() - kDigestBytes);
  if (bytes.substr(hashed.size()) != EncodeDigest(DigestOfBytes(hashed))) {
    return absl::DataLossError(absl::StrCat("state: the checksum of its ", bytes.size(),
                                            " bytes does not match"));
  }
  ByteReader reader(hashed.substr(kMagic.size()));
  uint32_t version = 0;
  reader.All(version);
  if (version != kStateFormatVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("state: format version ", version,
                     " is not accepted; accepted: ", kStateFormatVersion));
  }
  JobState state;
  reader.All(state);
  if (!reader.ok() || !reader.AtEnd()) {
    return absl::DataLossError("state: its fields don't fill its bytes");
  }
  if (absl::Status status = CheckState(state); !status.ok()) return status;
  return state;
}

Digest128 StateDigest(const JobState& state) {
  ByteWriter body;
  body.All(state);
  return DigestOfBytes(body.bytes());
}

}  // namespace evenpack
