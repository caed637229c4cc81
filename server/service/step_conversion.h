// A published step as one rank receives it.
#ifndef EVENPACK_SERVER_SERVICE_STEP_CONVERSION_H_
#define EVENPACK_SERVER_SERVICE_STEP_CONVERSION_H_

#include <compare>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "server/sessions/published_step.h"

namespace evenpack::v1 {
class Step;
}

namespace evenpack {

// Whose view of a step.
struct StepView {
  uint32_t dp_rank = 0;
  std::optional<uint32_t> cp_rank;

  friend auto operator<=>(const StepView&, const StepView&) = default;
};

// INVALID_ARGUMENT for a rank that the step's epoch doesn't have.
absl::Status CheckView(const StepView& view, const JobSpec& spec);

// A rank that the step's epoch doesn't have gets no micro-batches, or no slices.
void ToProto(const PublishedStep& published, const StepView& view, v1::Step& to);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_STEP_CONVERSION_H_
