// A micro-batch: the documents packed into one sequence.
#ifndef EVENPACK_SERVER_CORE_DOCUMENT_MICRO_BATCH_H_
#define EVENPACK_SERVER_CORE_DOCUMENT_MICRO_BATCH_H_

#include <cstdint>
#include <vector>

#include "server/core/digest/digest.h"
#include "server/core/document/document.h"

namespace evenpack {

// How a micro-batch's tokens are cut over the ranks of its context-parallel group
// (server/core/sharding). The numbers are part of stored formats.
enum class Sharding : uint8_t {
  kPerSequence = 0,
  kPerDocument = 1,
  kAdaptive = 2,    // of a job only: one of the two above is chosen per micro-batch
  kContiguous = 3,  // one run of tokens for each rank
  // Some documents whole on a rank, the others cut. Of a job: this or one of the first
  // two is chosen per micro-batch.
  kHybrid = 4,
};

// Whether the engine chooses one for each micro-batch of a job with this one, by
// predicted latency.
inline bool IsChosenPerMicroBatch(Sharding sharding) {
  return sharding == Sharding::kAdaptive || sharding == Sharding::kHybrid;
}

struct MicroBatch {
  // In sequence order.
  std::vector<Document> documents;
  // Sum of the documents' lengths; may be 0.
  uint64_t tokens = 0;
  // Tokens of padding beside these (server/core/document/padding.h).
  uint64_t padding = 0;
  // Predicted forward latency in nanoseconds.
  int64_t workload_ns = 0;
  // Never kAdaptive.
  Sharding sharding = Sharding::kPerSequence;
  // MicroBatchDigest of it, once its step is decided.
  Digest128 digest = {};

  friend bool operator==(const MicroBatch&, const MicroBatch&) = default;
};

// Sum of squared lengths, of which a trainer's MFU needs the step's total.
uint64_t SumOfSquaredLengths(const MicroBatch& micro_batch);
// Tokens that count in the loss.
uint64_t LossTokens(const MicroBatch& micro_batch);

// Covers the documents (stream, sequence, offset, length) in order, tokens and
// padding; docs/formats.md gives the words.
Digest128 MicroBatchDigest(const MicroBatch& micro_batch);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_DOCUMENT_MICRO_BATCH_H_
