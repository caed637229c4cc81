// A batch as a stream's sketch expects it, without the luck of any one batch.
#ifndef EVENPACK_SERVER_CORE_OUTLIER_TYPICAL_BATCH_H_
#define EVENPACK_SERVER_CORE_OUTLIER_TYPICAL_BATCH_H_

#include <cstdint>
#include <vector>

#include "server/core/document/document.h"
#include "server/core/outlier/length_sketch.h"

namespace evenpack {

// Documents of about `tokens` together, at most 2^40, longest first: as many of each
// bucket's middle length as so many tokens of the stream bring, where what a bucket is
// short of a document counts for the next shorter ones. Those shorter than `shortest`,
// at least 1, are taken together as ones of that length, so that there are at most
// tokens / shortest and one. Nothing but their lengths is set. None of an empty sketch.
std::vector<Document> TypicalBatch(const LengthSketch& sketch, uint64_t tokens,
                                   uint32_t shortest);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_OUTLIER_TYPICAL_BATCH_H_
