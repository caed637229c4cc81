#include "server/payload/step_payload.h"

namespace evenpack {

std::string StepPayload::Whole(size_t micro_batch) const {
  size_t bytes = 0;
  for (const PieceTokens& piece : micro_batches_[micro_batch]) {
    bytes += piece.tokens.size();
  }
  std::string whole;
  whole.reserve(bytes);
  for (const PieceTokens& piece : micro_batches_[micro_batch]) whole += piece.tokens;
  return whole;
}

std::string StepPayload::Of(size_t micro_batch, const RankSlices& slices) const {
  std::string part;
  part.reserve(slices.tokens * kTokenBytes);
  for (size_t i = 0; i < slices.size(); ++i) {
    const PieceTokens& piece = micro_batches_[micro_batch][slices.document[i]];
    part += piece.tokens.substr(slices.begin[i] * kTokenBytes,
                                (slices.end[i] - slices.begin[i]) * kTokenBytes);
  }
  return part;
}

}  // namespace evenpack
