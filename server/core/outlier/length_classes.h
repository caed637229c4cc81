// Classes of lengths, from the distribution of a stream: the queue thresholds that
// WLB-LLM's Algorithm 1 is given by hand.
#ifndef EVENPACK_SERVER_CORE_OUTLIER_LENGTH_CLASSES_H_
#define EVENPACK_SERVER_CORE_OUTLIER_LENGTH_CLASSES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/core/cost/workload_table.h"
#include "server/core/outlier/length_sketch.h"

namespace evenpack {

struct ClassTerms {
  // N and L.
  size_t micro_batches = 1;
  uint32_t window = 1;
  // Share of a stream's workload that a delay of all its tokens by one batch costs, in
  // millionths.
  uint32_t delay_price_ppm = 0;
};

// Workload of one token of the stream, its document's attention included, in
// picoseconds; at least 1.
int64_t TokenPs(const LengthSketch& sketch, const WorkloadTable& workload);

// The thresholds L_1 < L_2 < ... by which the predicted cost of a global batch is
// least. Documents below L_1 go at once, and cost what micro-batches wait for the
// heaviest of them. Those of a class wait until there are N, so (N - 1) / 2 of them on
// average, at the price; then N go, beside what of their batch goes at once, and
// micro-batches wait for the heaviest of the N as far as that does not fill what the
// others are short of. Every sketch bucket's end is tried as every class's end, by
// dynamic programming. None at all where waiting costs more than it saves, or the
// sketch is empty.
std::vector<uint32_t> ChooseClasses(const LengthSketch& sketch, const ClassTerms& terms,
                                    const WorkloadTable& workload);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_OUTLIER_LENGTH_CLASSES_H_
