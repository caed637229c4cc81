// The fields of the values that states and events are made of, in the order in which
// they are stored (byte_codec.h). A change of any list raises kStateFormatVersion and
// kEventFormatVersion.
#ifndef EVENPACK_SERVER_CORE_ENGINE_FIELD_CODEC_H_
#define EVENPACK_SERVER_CORE_ENGINE_FIELD_CODEC_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "server/core/cost/kernel_latency_table.h"
#include "server/core/cost/workload_table.h"
#include "server/core/digest/digest.h"
#include "server/core/document/document.h"
#include "server/core/document/step.h"
#include "server/core/engine/byte_codec.h"
#include "server/core/engine/job_spec.h"
#include "server/core/engine/merge.h"
#include "server/core/engine/sequence_ranges.h"
#include "server/core/outlier/length_sketch.h"

namespace evenpack {

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

inline void Code(ByteWriter& coder, const MicroBatch& micro_batch) {
  coder.All(micro_batch.documents, micro_batch.tokens, micro_batch.padding,
            micro_batch.workload_ns, micro_batch.sharding);
}
inline void Code(ByteReader& coder, MicroBatch& micro_batch) {
  coder.All(micro_batch.documents, micro_batch.tokens, micro_batch.padding,
            micro_batch.workload_ns, micro_batch.sharding);
  micro_batch.digest = MicroBatchDigest(micro_batch);
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<Step> auto& step) {
  coder.All(step.index, step.epoch, step.kind, step.micro_batches, step.digest);
}

inline void Code(ByteWriter& coder, const LengthCurve& curve) {
  coder.All(curve.max_tokens(), curve.knot_shift(), curve.values());
}
inline void Code(ByteReader& coder, LengthCurve& curve) {
  uint32_t max_tokens = 0;
  int knot_shift = 0;
  std::vector<int64_t> values;
  coder.All(max_tokens, knot_shift, values);
  auto created = LengthCurve::Create(max_tokens, knot_shift, std::move(values));
  if (!created.ok()) return coder.Fail();
  curve = *std::move(created);
}

inline void Code(ByteWriter& coder, const WorkloadTable& table) {
  coder.All(table.attention(), table.linear());
}
inline void Code(ByteReader& coder, WorkloadTable& table) {
  LengthCurve attention;
  LengthCurve linear;
  coder.All(attention, linear);
  auto created = WorkloadTable::Create(std::move(attention), std::move(linear));
  if (!created.ok()) return coder.Fail();
  table = *std::move(created);
}

inline void Code(ByteWriter& coder, const KernelLatencyTable& table) {
  coder.All(table.q_lens(), table.kv_lens(), table.block_ps(), table.launch_ns());
}
inline void Code(ByteReader& coder, KernelLatencyTable& table) {
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
void Code(Coder& coder, MaybeConst<BalancedSpec> auto& balanced) {
  coder.All(balanced.release, balanced.finish, balanced.delay_price_ppm,
            balanced.token_spread_ppm, balanced.long_share_spread_ppm, balanced.place,
            balanced.virtual_stages, balanced.sync_domain,
            balanced.max_in_flight_tokens, balanced.attention_error_64ths);
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<PolicySpec> auto& policy) {
  coder.All(policy.kind, policy.version, policy.window_batches, policy.queue_thresholds,
            policy.split_documents, policy.balanced);
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<LayoutSpec> auto& layout) {
  coder.All(layout.kind, layout.max_documents, layout.pad_tokens_to,
            layout.shape_ladder, layout.sequence_parallel);
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<HybridRule> auto& rule) {
  coder.All(rule.token_tolerance_ppm, rule.token_ps, rule.cut_token_ps);
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<JobSpec> auto& spec) {
  coder.All(spec.streams, spec.merge, spec.micro_batches, spec.data_parallel,
            spec.context_parallel, spec.tensor_parallel, spec.pipeline_parallel,
            spec.virtual_pipeline_group, spec.expert_parallel, spec.window,
            spec.max_length, spec.policy, spec.split_overlong, spec.max_delay,
            spec.backlog_limit, spec.layout, spec.sharding, spec.hybrid,
            spec.retain_checkpoints, spec.max_steps_ahead, spec.max_buffered_tokens,
            spec.max_buffered_documents, spec.max_buffered_bytes, spec.workload,
            spec.kernel_latency, spec.description);
}

inline void Code(ByteWriter& coder, const LengthSketch& sketch) {
  coder.All(sketch.weights());
}
inline void Code(ByteReader& coder, LengthSketch& sketch) {
  std::vector<uint64_t> weights;
  coder.All(weights);
  if (!LengthSketch::AreWeights(weights)) return coder.Fail();
  sketch = LengthSketch(std::move(weights));
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<SequenceRange> auto& range) {
  coder.All(range.first, range.end);
}

template <typename Coder>
void Code(Coder& coder, MaybeConst<MergeCursor> auto& cursor) {
  coder.All(cursor.credit, cursor.out);
}

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_FIELD_CODEC_H_
