// Which documents go into a step and which wait for their like: WLB-LLM's outlier
// delay (section 4.2) with the step's workload and the documents' age in place of fixed
// classes of lengths and of N documents at a time.
//
// A level is a workload that no micro-batch of the step is to exceed. Documents are
// placed longest first, each in the lightest micro-batch with room, and one that would
// lift it above the level waits. A low level lets outliers wait, a high one puts them
// beside each other in a step that is heavy throughout. Of some tens of levels the one
// is taken whose step costs least:
//
//   (what micro-batches wait for the heaviest one) + (price of what is held back)
//
// where a document that is held has cost its tokens times the price with every batch
// that it waited. At the end of the streams what is held back is all that is left:
// there a level also costs what the last steps will wait.
#ifndef EVENPACK_SERVER_CORE_PACKING_RELEASE_BY_WORKLOAD_H_
#define EVENPACK_SERVER_CORE_PACKING_RELEASE_BY_WORKLOAD_H_

#include <cstddef>
#include <cstdint>
#include <limits>

#include "server/core/cost/leaning_workload.h"
#include "server/core/packing/step_terms.h"
#include "server/core/packing/work_list.h"

namespace evenpack {

struct ReleaseTerms : StepTerms {
  // Of the step, documents' padded lengths; not counted are documents of batches before
  // `counted_from`, so that due ones of these come on top.
  uint64_t most_tokens = 0;
  uint64_t counted_from = 0;
  // Of documents of at least long_from tokens, the most tokens that go beside what is
  // due.
  uint32_t long_from = std::numeric_limits<uint32_t>::max();
  uint64_t most_long_tokens = std::numeric_limits<uint64_t>::max();
  // Documents that are placed one by one where a level is tried, the longest ones. The
  // others are taken together as tokens that fill what is low.
  size_t placed_one_by_one = 0;
  // Attention's cost is known to within this share, in 64ths, 0 to 63: a level counts
  // what it costs with the cost as it is, and with so much more and less of it.
  uint32_t attention_error_64ths = 0;
  // What is held back goes in steps of its own, and a level also costs what these will
  // wait (last_steps.h).
  bool nothing_follows = false;
};

struct Release {
  // Longest first, without those that are due.
  WorkList goes;
  WorkList held;
  // What the step is estimated to be: its tokens and workload, due documents included,
  // and how much the micro-batches are lighter than the heaviest, together.
  uint64_t tokens = 0;
  int64_t workload_ns = 0;
  int64_t excess_ns = 0;
  // The latter where attention costs more by the error.
  int64_t dearer_excess_ns = 0;
  // Levels tried.
  uint64_t levels = 0;
};

// `due` goes whatever it costs, as far as it fits; `others` is sorted longest first.
// Where there is a document at all, and most_long_tokens admits one, one goes.
Release ReleaseByWorkload(const WorkList& due, const WorkList& others,
                          const ReleaseTerms& terms, const LeaningWorkload& workload);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PACKING_RELEASE_BY_WORKLOAD_H_
