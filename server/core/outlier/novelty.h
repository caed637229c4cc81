// How new to a stream the lengths are that come.
#ifndef EVENPACK_SERVER_CORE_OUTLIER_NOVELTY_H_
#define EVENPACK_SERVER_CORE_OUTLIER_NOVELTY_H_

#include <cstdint>
#include <span>

#include "server/core/document/document.h"
#include "server/core/outlier/length_sketch.h"

namespace evenpack {

// Of a stream where no batch has any length that those before had.
inline constexpr uint64_t kNoveltyUnit = 65536;

// The share of tokens that a batch has in other doublings of length than the stream,
// the total variation between both, as a mean over the last eight batches or so, once
// there is one more: `admitted`, with which `sketch` is that of the stream. Some
// hundredths for a stream whose lengths are drawn, since they are drawn; most of it for
// one that is sorted.
uint64_t NoveltyAfter(uint64_t novelty, const LengthSketch& sketch,
                      std::span<const Document> admitted);

// What is left of a price of delay: all of it up to a half of novelty, and less with
// the eighth power of what is missing to 1 above that, down to a 128th. Where lengths
// drift on, what is left behind never gets others of its like but those that wait with
// it, and as batches are alike within, little waits on average.
uint32_t PriceWhereNew(uint64_t novelty, uint32_t price_ppm);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_OUTLIER_NOVELTY_H_
