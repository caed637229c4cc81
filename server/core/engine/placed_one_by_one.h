// How many documents the policy `balanced` places one by one while it looks for a level
// (packing/release_by_workload.h).
#ifndef EVENPACK_SERVER_CORE_ENGINE_PLACED_ONE_BY_ONE_H_
#define EVENPACK_SERVER_CORE_ENGINE_PLACED_ONE_BY_ONE_H_

#include <cstddef>

#include "server/core/engine/job_spec.h"
#include "server/core/outlier/length_sketch.h"
#include "server/core/packing/work_list.h"

namespace evenpack {

// The longest ones: those of lengths of which a batch brings four for each micro-batch.
// The rest is short, and fills up. 16 N + 64 at most, and so many where even the
// longest come more often.
size_t PlacedOneByOne(const JobSpec& spec, const LengthSketch& sketch,
                      const WorkList& longest_first);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_PLACED_ONE_BY_ONE_H_
