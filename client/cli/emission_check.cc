#include "client/cli/emission_check.h"

#include <iterator>

#include "absl/strings/str_cat.h"

namespace evenpack {
namespace {

absl::Status Wrong(const Document& piece, absl::string_view what) {
  return absl::InternalError(absl::StrCat("document ", piece.sequence, ", ",
                                          piece.length, " of ", piece.document_length,
                                          " tokens from ", piece.offset, ": ", what));
}

}  // namespace

void EmissionCheck::Accept(std::span<const uint32_t> lengths) {
  unfinished_.insert(unfinished_.end(), lengths.begin(), lengths.end());
  for (const uint32_t length : lengths) tokens_in_ += length;
}

absl::StatusOr<bool> EmissionCheck::Emit(const Document& piece) {
  if (piece.sequence >= documents_in()) return Wrong(piece, "was never accepted");
  if (piece.sequence < first_) return Wrong(piece, "came out before");
  uint32_t& missing = unfinished_[piece.sequence - first_];
  if (missing == 0) return Wrong(piece, "came out before");
  if (piece.length == missing && piece.offset == 0 &&
      piece.document_length == missing && !pieces_.contains(piece.sequence)) {
    missing = 0;
  } else {
    if (absl::Status status = EmitPiece(piece, missing); !status.ok()) return status;
    missing -= piece.length;
  }
  tokens_out_ += piece.length;
  if (missing > 0) return false;
  ++documents_out_;
  LetGoFinished();
  return true;
}

absl::Status EmissionCheck::EmitPiece(const Document& piece, uint32_t missing) {
  const auto [found, is_first] = pieces_.try_emplace(piece.sequence);
  Pieces& pieces = found->second;
  if (is_first) pieces.document_length = missing;
  const uint64_t end = uint64_t{piece.offset} + piece.length;
  if (piece.length == 0 || piece.document_length != pieces.document_length ||
      end > pieces.document_length) {
    return Wrong(piece, absl::StrCat("does not lie within the document's ",
                                     pieces.document_length, " tokens"));
  }
  const auto after = pieces.begin_to_end.lower_bound(piece.offset);
  const bool meets_after = after != pieces.begin_to_end.end() && after->first < end;
  const bool meets_before =
      after != pieces.begin_to_end.begin() && std::prev(after)->second > piece.offset;
  if (meets_after || meets_before) return Wrong(piece, "came out before in part");
  pieces.begin_to_end.emplace_hint(after, piece.offset, static_cast<uint32_t>(end));
  if (piece.length == missing) pieces_.erase(found);
  return absl::OkStatus();
}

void EmissionCheck::LetGoFinished() {
  while (!unfinished_.empty() && unfinished_.front() == 0) {
    unfinished_.pop_front();
    ++first_;
  }
}

absl::Status CheckBounds(const Step& step, const JobSpec& spec) {
  if (step.micro_batches.size() != spec.micro_batches) {
    return absl::InternalError(
        absl::StrCat("step ", step.index, " has ", step.micro_batches.size(),
                     " micro-batches, not ", spec.micro_batches));
  }
  for (const MicroBatch& micro_batch : step.micro_batches) {
    uint64_t tokens = 0;
    for (const Document& document : micro_batch.documents) tokens += document.length;
    const bool fixed_length = !IsVariableLength(spec.policy.kind);
    const uint32_t bound = fixed_length && micro_batch.documents.size() > 1
                               ? spec.window
                               : spec.max_length;
    if (tokens != micro_batch.tokens || tokens > bound) {
      return absl::InternalError(absl::StrCat(
          "step ", step.index, " has a micro-batch of ", tokens, " tokens that says ",
          micro_batch.tokens, "; the bound is ", bound));
    }
  }
  return absl::OkStatus();
}

}  // namespace evenpack
