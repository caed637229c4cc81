// How far the policy `balanced` leans to attention that is dearer than modelled
// (server/core/cost/leaning_workload.h), in 256ths of it.
#ifndef EVENPACK_SERVER_CORE_ENGINE_ATTENTION_LEAN_H_
#define EVENPACK_SERVER_CORE_ENGINE_ATTENTION_LEAN_H_

#include <cstdint>

#include "absl/numeric/int128.h"
#include "server/core/engine/job_spec.h"
#include "server/core/packing/release_by_workload.h"

namespace evenpack {

// The share to within which attention's cost is known, in 64ths; 0 where a step may
// last for decades, whose sums have no room for more.
inline uint32_t LeaningError(const JobSpec& spec) {
  const bool has_room = spec.workload.StepFits(4 * spec.micro_batches);
  return has_room ? spec.policy.balanced.attention_error_64ths : 0;
}

// Where it is chosen who goes and who waits: five eighths of the error.
inline uint32_t ReleaseLean(const JobSpec& spec) { return LeaningError(spec) * 5 / 2; }

// Where those that go are packed: a quarter of that, since every step pays for it whose
// attention costs what is modelled; and nothing where it would gain little, since the
// dearest attention would have micro-batches wait for less than a fifth of the error.
inline uint32_t PackingLean(const JobSpec& spec, const Release& release) {
  const uint32_t error_64ths = LeaningError(spec);
  const bool gains = absl::int128(release.dearer_excess_ns) * 5 * 64 >
                     absl::int128(release.workload_ns) * error_64ths;
  return gains ? error_64ths * 5 / 8 : 0;
}

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_ATTENTION_LEAN_H_
