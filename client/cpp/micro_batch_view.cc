#include "client/cpp/micro_batch_view.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "client/cpp/data_loss.h"
#include "client/cpp/token_ids.h"
#include "client/cpp/wire_shard_plan.h"
#include "evenpack/v1/job.pb.h"
#include "evenpack/v1/step.pb.h"
#include "server/core/digest/digest_bytes.h"
#include "server/core/sharding/plan_digest.h"

namespace evenpack::client {
namespace {

absl::Status CheckEqual(const char* field, uint64_t value, uint64_t expected) {
  if (value == expected) return absl::OkStatus();
  return DataLoss(field, " is ", value, "; expected: ", expected);
}

absl::Status ReadDigestField(const char* field, const std::string& bytes,
                             Digest128& digest) {
  const std::optional<Digest128> read = DigestFromBytes(bytes);
  if (!read.has_value()) {
    return DataLoss(field, " has ", bytes.size(), " bytes; expected: 16");
  }
  digest = *read;
  return absl::OkStatus();
}

// A column that is as long as there are documents, or empty if it may be left out.
template <typename Column>
absl::Status CheckColumn(const char* field, const Column& column, int documents,
                         bool may_be_empty) {
  if (column.size() == documents || (may_be_empty && column.empty())) {
    return absl::OkStatus();
  }
  return DataLoss("documents.", field, " has ", column.size(),
                  " entries; expected: ", documents);
}

absl::Status CheckColumns(const v1::Documents& message) {
  const int count = message.sequence_size();
  absl::Status status = CheckColumn("length", message.length(), count, false);
  status.Update(CheckColumn("stream", message.stream(), count, true));
  status.Update(CheckColumn("id", message.id(), count, true));
  status.Update(CheckColumn("offset", message.offset(), count, true));
  status.Update(CheckColumn("document_length", message.document_length(), count, true));
  status.Update(CheckColumn("loss_tokens", message.loss_tokens(), count, true));
  status.Update(CheckColumn("source", message.source(), count, true));
  return status;
}

absl::Status CheckDocument(int at, const Document& document) {
  if (document.length >= 1 && document.length <= kMaxDocumentLength &&
      document.loss_tokens <= document.length &&
      uint64_t{document.offset} + document.length <= document.document_length) {
    return absl::OkStatus();
  }
  return DataLoss("document ", at, " has ", document.length, " tokens from ",
                  document.offset, " on of ", document.document_length, ", ",
                  document.loss_tokens, " of them in the loss");
}

// Columns that were left out give what they stand for.
absl::Status ReadDocuments(const v1::Documents& message,
                           std::vector<Document>& documents) {
  if (absl::Status status = CheckColumns(message); !status.ok()) return status;
  documents.resize(static_cast<size_t>(message.sequence_size()));
  for (int i = 0; i < message.sequence_size(); ++i) {
    Document& document = documents[static_cast<size_t>(i)];
    document.sequence = message.sequence(i);
    document.length = message.length(i);
    document.id = message.id().empty() ? document.sequence : message.id(i);
    document.stream = message.stream().empty() ? 0 : message.stream(i);
    document.offset = message.offset().empty() ? 0 : message.offset(i);
    document.document_length = message.document_length().empty()
                                   ? document.length
                                   : message.document_length(i);
    document.loss_tokens =
        message.loss_tokens().empty() ? document.length : message.loss_tokens(i);
    document.source = message.source().empty() ? 0 : message.source(i);
    if (absl::Status status = CheckDocument(i, document); !status.ok()) return status;
  }
  return absl::OkStatus();
}

std::vector<int32_t> PositionsWithin(const std::vector<int32_t>& starts) {
  std::vector<int32_t> positions(static_cast<size_t>(starts.back()));
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    std::iota(positions.begin() + starts[i], positions.begin() + starts[i + 1], 0);
  }
  return positions;
}

uint64_t SliceTokens(const RankSlices& slices) {
  uint64_t tokens = 0;
  for (size_t i = 0; i < slices.size(); ++i) tokens += slices.end[i] - slices.begin[i];
  return tokens;
}

int32_t LongestOf(const std::vector<int32_t>& starts) {
  int32_t longest = 0;
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    longest = std::max(longest, starts[i + 1] - starts[i]);
  }
  return longest;
}

}  // namespace

absl::StatusOr<MicroBatchView> MicroBatchView::FromMessage(
    const v1::MicroBatch& message, v1::Layout layout) {
  MicroBatchView view;
  absl::Status status = view.Read(message);
  if (!status.ok()) {
    return DataLoss("micro-batch ", message.index(), ": ", status.message());
  }
  view.layout_ = layout;
  view.LayOut();
  return view;
}

absl::Status MicroBatchView::Read(const v1::MicroBatch& message) {
  index_ = message.index();
  micro_batch_.tokens = message.tokens();
  micro_batch_.padding = message.padding();
  micro_batch_.workload_ns = message.workload_ns();
  loss_tokens_ = message.loss_tokens();
  sum_squared_lengths_ = message.sum_squared_lengths();
  absl::Status status = ReadDocuments(message.documents(), micro_batch_.documents);
  status.Update(ReadDigestField("digest", message.digest(), digest_));
  if (status.ok()) status = ReadPlan(message.plan());
  if (status.ok() && message.has_slices()) status = ReadSlices(message.slices());
  if (!status.ok()) return status;

  status = CheckEqual("tokens", tokens(), plan_.tokens());
  status.Update(CheckEqual("padding", padding(), padded_tokens() - plan_.tokens()));
  status.Update(CheckEqual("loss_tokens", loss_tokens_, LossTokens(micro_batch_)));
  status.Update(CheckEqual("sum_squared_lengths", sum_squared_lengths_,
                           SumOfSquaredLengths(micro_batch_)));
  if (status.ok()) status = ReadTokens(message.documents().token_ids());
  return status;
}

absl::Status MicroBatchView::ReadPlan(const v1::ShardPlan& message) {
  absl::StatusOr<ShardPlan> plan =
      ReadShardPlan(message, LengthsOf(micro_batch_.documents));
  if (!plan.ok()) return plan.status();
  plan_ = *std::move(plan);
  micro_batch_.sharding = plan_.sharding;
  rank_tokens_.assign(message.rank_tokens().begin(), message.rank_tokens().end());
  rank_padding_.assign(message.rank_padding().begin(), message.rank_padding().end());
  if (rank_padding_.empty()) rank_padding_.resize(context_parallel());
  absl::Status status = CheckEqual("entries of plan.rank_tokens", rank_tokens_.size(),
                                   context_parallel());
  status.Update(CheckEqual("entries of plan.rank_padding", rank_padding_.size(),
                           context_parallel()));
  status.Update(
      CheckEqual("sum of plan.rank_tokens",
                 std::accumulate(rank_tokens_.begin(), rank_tokens_.end(), uint64_t{0}),
                 plan_.tokens()));
  status.Update(ReadDigestField("plan.digest", message.digest(), plan_digest_));
  return status;
}

absl::Status MicroBatchView::ReadSlices(const v1::RankSlices& message) {
  absl::StatusOr<RankSlices> slices =
      ReadRankSlices(message, LengthsOf(micro_batch_.documents));
  if (!slices.ok()) return slices.status();
  if (message.cp_rank() >= context_parallel()) {
    return DataLoss("slices.cp_rank is ", message.cp_rank(), "; expected: below ",
                    context_parallel());
  }
  own_slices_ = *std::move(slices);
  cp_rank_ = message.cp_rank();
  return ReadDigestField("slices.digest", message.digest(), slices_digest_);
}

absl::Status MicroBatchView::ReadTokens(const std::string& bytes) {
  const uint64_t expected = cp_rank_.has_value() ? SliceTokens(own_slices_) : tokens();
  has_token_ids_ = bytes.size() == expected * kTokenIdBytes;
  if (!has_token_ids_ && !bytes.empty()) {
    return DataLoss("documents.token_ids has ", bytes.size(),
                    " bytes; expected: ", expected * kTokenIdBytes, ", for ", expected,
                    " tokens");
  }
  token_ids_ = ReadTokenIds(bytes);
  return absl::OkStatus();
}

void MicroBatchView::LayOut() {
  const size_t count = documents().size();
  const bool per_document =
      sharding() == Sharding::kPerDocument && plan_.pad_multiple != 0;
  cu_seqlens_.resize(count + 1);
  cu_seqlens_padded_.resize(count + 1);
  for (size_t i = 0; i < count; ++i) {
    const auto length = static_cast<int32_t>(documents()[i].length);
    const auto padded = per_document
                            ? static_cast<int32_t>(plan_.slot_tokens[i] * plan_.slots())
                            : length;
    cu_seqlens_[i + 1] = cu_seqlens_[i] + length;
    cu_seqlens_padded_[i + 1] = cu_seqlens_padded_[i] + padded;
  }
  if (count != 0) cu_seqlens_padded_[count] = static_cast<int32_t>(padded_tokens());
  max_seqlen_ = LongestOf(cu_seqlens_);
  max_seqlen_padded_ = LongestOf(cu_seqlens_padded_);
}

std::vector<int32_t> MicroBatchView::PositionIds() const {
  return PositionsWithin(cu_seqlens_);
}

std::vector<int32_t> MicroBatchView::PaddedPositionIds() const {
  return PositionsWithin(cu_seqlens_padded_);
}

RankSlices MicroBatchView::Slices(uint32_t rank) const {
  return ExpandRank(plan_, rank);
}

SlicePositions MicroBatchView::PositionsOf(const RankSlices& slices) const {
  SlicePositions positions;
  positions.local_begin.push_back(0);
  for (size_t i = 0; i < slices.size(); ++i) {
    const uint32_t document = slices.document[i];
    const auto begin = static_cast<int32_t>(slices.begin[i]);
    const auto length = static_cast<int32_t>(slices.end[i] - slices.begin[i]);
    positions.sequence_begin.push_back(cu_seqlens_[document] + begin);
    positions.padded_begin.push_back(cu_seqlens_padded_[document] + begin);
    positions.local_begin.push_back(positions.local_begin.back() + length);
  }
  return positions;
}

MicroBatchView MicroBatchView::OfCpRank(uint32_t rank) const {
  MicroBatchView view = *this;
  view.cp_rank_ = rank;
  view.own_slices_ = Slices(rank);
  view.slices_digest_ = RankSlicesDigest(rank, view.own_slices_);
  view.has_token_ids_ = has_token_ids_ || view.own_slices_.tokens == 0;
  view.token_ids_.clear();
  if (has_token_ids_) {
    for (const int32_t index : TokenIndices(view.own_slices_)) {
      view.token_ids_.push_back(token_ids_[static_cast<size_t>(index)]);
    }
  }
  return view;
}

size_t MicroBatchView::memory_bytes() const {
  const auto of = [](const auto&... columns) {
    return (... + (columns.capacity() * sizeof(columns[0])));
  };
  return sizeof(*this) +
         of(micro_batch_.documents, cu_seqlens_, cu_seqlens_padded_, rank_tokens_,
            rank_padding_) +
         of(plan_.document_starts, plan_.slot_starts, plan_.slot_tokens,
            plan_.left_over, plan_.cursor) +
         of(own_slices_.document, own_slices_.begin, own_slices_.end, token_ids_);
}

std::vector<int32_t> MicroBatchView::TokenIndices(const RankSlices& slices) const {
  const SlicePositions positions = PositionsOf(slices);
  std::vector<int32_t> indices(static_cast<size_t>(positions.local_begin.back()));
  for (size_t i = 0; i < slices.size(); ++i) {
    std::iota(indices.begin() + positions.local_begin[i],
              indices.begin() + positions.local_begin[i + 1],
              positions.sequence_begin[i]);
  }
  return indices;
}

}  // namespace evenpack::client
