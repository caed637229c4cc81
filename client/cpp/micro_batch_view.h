// The trainer's view of one micro-batch: what its attention and its loss need, as the
// columns that training frameworks take.
//
//   for (const MicroBatchView& view : step.micro_batches()) {
//     Gather(view.documents(), view.cu_seqlens());
//     Attend(view.cu_seqlens(), view.max_seqlen(), view.Slices(cp_rank));
//   }
//
// The *unpadded* sequence is the documents' tokens one after another. The *padded* one
// has the plan's padding in it: behind each document under per-document sharding,
// behind the last under the others, and whatever padded_tokens() has beyond that behind
// the last. In a padding-free plan both are the same.
//
// Lengths and positions are int32_t, as trainers' kernels take them.
#ifndef EVENPACK_CLIENT_CPP_MICRO_BATCH_VIEW_H_
#define EVENPACK_CLIENT_CPP_MICRO_BATCH_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/api_messages.h"
#include "server/core/digest/digest.h"
#include "server/core/document/micro_batch.h"
#include "server/core/sharding/shard_plan.h"

namespace evenpack::client {

// Where the slices of a rank lie; one entry per slice of each.
struct SlicePositions {
  // The slice's first token in the unpadded and in the padded sequence.
  std::vector<int32_t> sequence_begin;
  std::vector<int32_t> padded_begin;
  // The slice's first token among the rank's own tokens, in local order, without
  // padding; then the number of these: one entry more.
  std::vector<int32_t> local_begin;

  friend bool operator==(const SlicePositions&, const SlicePositions&) = default;
};

// A value; concurrent reading is safe.
class MicroBatchView {
 public:
  // Reads the message. `layout` is the job's. Nothing is verified but the form.
  // DATA_LOSS naming the micro-batch and the field: the message can't be a micro-batch,
  // or has 2^31 or more tokens with padding.
  static absl::StatusOr<MicroBatchView> FromMessage(const v1::MicroBatch& message,
                                                    v1::Layout layout);

  // Index within the step.
  uint32_t index() const { return index_; }
  // In sequence order; may be empty. `order` and `batch` of each are not told to ranks
  // and are 0.
  std::span<const Document> documents() const { return micro_batch_.documents; }

  // First token of each document, then the number of tokens: documents + 1 entries.
  const std::vector<int32_t>& cu_seqlens() const { return cu_seqlens_; }
  // The same in the padded sequence, where a document's padding counts to its length.
  // The last entry is padded_tokens(), but 0 where there are no documents.
  const std::vector<int32_t>& cu_seqlens_padded() const { return cu_seqlens_padded_; }
  // The longest document, 0 where there is none.
  int32_t max_seqlen() const { return max_seqlen_; }
  int32_t max_seqlen_padded() const { return max_seqlen_padded_; }
  // Position of each token within its document (or piece): tokens() entries, each
  // document's from 0.
  std::vector<int32_t> PositionIds() const;
  // The same for the padded sequence, counting on through a document's padding:
  // padded_tokens() entries.
  std::vector<int32_t> PaddedPositionIds() const;

  uint64_t tokens() const { return micro_batch_.tokens; }
  uint64_t padding() const { return micro_batch_.padding; }
  // tokens() + padding().
  uint64_t padded_tokens() const { return plan_.padded_tokens; }
  uint64_t loss_tokens() const { return loss_tokens_; }
  uint64_t sum_squared_lengths() const { return sum_squared_lengths_; }
  // Predicted forward pass, nanoseconds.
  int64_t workload_ns() const { return micro_batch_.workload_ns; }
  v1::Layout layout() const { return layout_; }

  Sharding sharding() const { return plan_.sharding; }
  uint32_t context_parallel() const { return plan_.context_parallel; }
  // Tokens and padding that each CP rank holds: context_parallel() entries each.
  const std::vector<uint64_t>& rank_tokens() const { return rank_tokens_; }
  const std::vector<uint64_t>& rank_padding() const { return rank_padding_; }
  const ShardPlan& plan() const { return plan_; }

  // The CP rank whose slices came with the step; none where none was asked for.
  std::optional<uint32_t> cp_rank() const { return cp_rank_; }
  // What came for cp_rank(); empty where that is none.
  const RankSlices& own_slices() const { return own_slices_; }
  // Where the job's payload travels by value, the token ids without padding: of
  // own_slices() in local order where a cp_rank() was asked for, else of all documents
  // one after another. Empty: none came.
  const std::vector<uint32_t>& token_ids() const { return token_ids_; }
  // Whether each of those tokens' ids came; also where there is no such token.
  bool has_token_ids() const { return has_token_ids_; }
  // Slices of any rank below context_parallel(), computed from the plan.
  RankSlices Slices(uint32_t rank) const;
  SlicePositions PositionsOf(const RankSlices& slices) const;
  // For each token of the slices in local order, its index in the unpadded sequence.
  std::vector<int32_t> TokenIndices(const RankSlices& slices) const;
  // The same as it comes where that rank, below context_parallel(), was asked for. None
  // was for this one.
  MicroBatchView OfCpRank(uint32_t rank) const;

  // As the message says them.
  const Digest128& digest() const { return digest_; }
  const Digest128& plan_digest() const { return plan_digest_; }
  const Digest128& slices_digest() const { return slices_digest_; }
  // The documents, tokens and padding, of which digest() is.
  const MicroBatch& micro_batch() const { return micro_batch_; }

  // What the object takes in memory.
  size_t memory_bytes() const;

 private:
  MicroBatchView() = default;
  absl::Status Read(const v1::MicroBatch& message);
  absl::Status ReadPlan(const v1::ShardPlan& message);
  absl::Status ReadSlices(const v1::RankSlices& message);
  absl::Status ReadTokens(const std::string& bytes);
  void LayOut();

  uint32_t index_ = 0;
  v1::Layout layout_{};
  MicroBatch micro_batch_;
  uint64_t loss_tokens_ = 0;
  uint64_t sum_squared_lengths_ = 0;
  std::vector<int32_t> cu_seqlens_;
  std::vector<int32_t> cu_seqlens_padded_;
  int32_t max_seqlen_ = 0;
  int32_t max_seqlen_padded_ = 0;
  ShardPlan plan_;
  std::vector<uint64_t> rank_tokens_;
  std::vector<uint64_t> rank_padding_;
  std::optional<uint32_t> cp_rank_;
  RankSlices own_slices_;
  std::vector<uint32_t> token_ids_;
  bool has_token_ids_ = false;
  Digest128 digest_;
  Digest128 plan_digest_;
  Digest128 slices_digest_;
};

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_MICRO_BATCH_VIEW_H_
