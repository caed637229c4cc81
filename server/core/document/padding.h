// How many tokens of padding a micro-batch gets.
#ifndef EVENPACK_SERVER_CORE_DOCUMENT_PADDING_H_
#define EVENPACK_SERVER_CORE_DOCUMENT_PADDING_H_

#include <cstdint>
#include <span>

#include "server/core/document/micro_batch.h"

namespace evenpack {

// Padding lies behind each document, and behind the last one of the micro-batch. A
// micro-batch without documents has none.
struct PaddingRule {
  // Each document is padded to a multiple of this. At least 1.
  uint32_t document_unit = 1;
  // The documents so padded are padded together to a multiple of this, itself a
  // multiple of document_unit.
  uint32_t total_unit = 1;
  // Where there are any: instead of to total_unit, to the least of these that holds the
  // documents. Rising multiples of document_unit. Not owned.
  std::span<const uint32_t> ladder = {};
};

// Tokens of a document with its padding.
inline uint64_t PaddedLength(const PaddingRule& rule, uint32_t length) {
  if (rule.document_unit == 1) [[likely]]
    return length;
  const uint64_t unit = rule.document_unit;
  return (length + unit - 1) / unit * unit;
}

// The most that padded lengths can come to in a micro-batch of at most `limit` tokens,
// padding included: a multiple of document_unit, 0 where nothing fits.
uint32_t CapacityWithin(const PaddingRule& rule, uint32_t limit);

// All padding of a micro-batch of these documents. Where a ladder has no rung for them,
// that of the documents alone.
uint64_t PaddingOf(const PaddingRule& rule, const MicroBatch& micro_batch);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_DOCUMENT_PADDING_H_
