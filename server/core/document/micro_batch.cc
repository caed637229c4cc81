#include "server/core/document/micro_batch.h"

namespace evenpack {

uint64_t SumOfSquaredLengths(const MicroBatch& micro_batch) {
  uint64_t sum = 0;
  for (const Document& document : micro_batch.documents) {
    sum += static_cast<uint64_t>(document.length) * document.length;
  }
  return sum;
}

uint64_t LossTokens(const MicroBatch& micro_batch) {
  uint64_t sum = 0;
  for (const Document& document : micro_batch.documents) sum += document.loss_tokens;
  return sum;
}

Digest128 MicroBatchDigest(const MicroBatch& micro_batch) {
  DigestBuilder builder;
  builder.Word(micro_batch.documents.size());
  for (const Document& document : micro_batch.documents) {
    builder.Word(document.stream | static_cast<uint64_t>(document.length) << 32);
    builder.Word(document.sequence);
    builder.Word(document.offset);
  }
  builder.Word(micro_batch.tokens);
  builder.Word(micro_batch.padding);
  return builder.Finish();
}

}  // namespace evenpack
