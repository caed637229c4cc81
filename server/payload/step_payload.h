// The tokens of a step's micro-batches, where they lie.
#ifndef EVENPACK_SERVER_PAYLOAD_STEP_PAYLOAD_H_
#define EVENPACK_SERVER_PAYLOAD_STEP_PAYLOAD_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/sharding/shard_plan.h"
#include "server/payload/token_batch.h"

namespace evenpack {

// Of a piece of a document; keeps the batch that it lies in.
struct PieceTokens {
  std::shared_ptr<const TokenBatch> batch;
  std::string_view tokens;
};

// Constant once made, so any thread may read it.
class StepPayload {
 public:
  // By micro-batch, by document as the micro-batch has them.
  explicit StepPayload(std::vector<std::vector<PieceTokens>> micro_batches)
      : micro_batches_(std::move(micro_batches)) {}

  // All tokens of a micro-batch, one document after another.
  std::string Whole(size_t micro_batch) const;
  // Those of one rank's slices in their order.
  std::string Of(size_t micro_batch, const RankSlices& slices) const;

 private:
  std::vector<std::vector<PieceTokens>> micro_batches_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_PAYLOAD_STEP_PAYLOAD_H_
