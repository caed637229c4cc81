// How much the policy `balanced` keeps waiting, beyond what the price of delay holds
// back, where the stream leaves it little to choose from otherwise.
//
// A level (packing/release_by_workload.h) holds back what is too long for a step, and
// fills the micro-batches with the rest. Where most of a batch is long the rest does
// not fill them, whatever is held back, and so nothing is worth holding for this step's
// sake; yet of two batches' documents an even step can be made, and then another.
#ifndef EVENPACK_SERVER_CORE_ENGINE_RESERVE_H_
#define EVENPACK_SERVER_CORE_ENGINE_RESERVE_H_

#include <cstdint>

#include "server/core/engine/job_spec.h"
#include "server/core/outlier/length_sketch.h"
#include "server/core/packing/release_by_workload.h"

namespace evenpack {

struct Reserve {
  // That wait after each step, once there are so many; 0 where none is worth while.
  uint64_t tokens = 0;
  // Levels tried to find that out.
  uint64_t levels = 0;
};

// Three quarters of a global batch, where a typical batch of the stream by itself would
// make a step whose micro-batches wait for the heaviest one much longer than the price
// of such a delay: by a twentieth of their workload at least. None where the job bounds
// delay by less than two batches, asks for steps of equal tokens or shares, which have
// rules of their own, or for no reserve (kByLevel). `terms`: the step's.
Reserve ReserveOf(const JobSpec& spec, const LengthSketch& sketch,
                  const ReleaseTerms& terms);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_RESERVE_H_
