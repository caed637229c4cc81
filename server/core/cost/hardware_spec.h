// What one GPU does with the operations of a model.
#ifndef EVENPACK_SERVER_CORE_COST_HARDWARE_SPEC_H_
#define EVENPACK_SERVER_CORE_COST_HARDWARE_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace evenpack {

struct HardwareSpec {
  std::string name;
  // Dense bf16 FLOP/s of one GPU.
  double peak_flops = 0;
  // Share of the peak that the part linear in tokens reaches: matrix products with
  // the collectives of tensor and sequence parallelism and element-wise work around
  // them. Above 0, at most 1.
  double linear_fraction = 0;
  // Share of the peak that attention over packed documents reaches. Above 0, at most 1.
  double attention_fraction = 0;
  // Streaming multiprocessors.
  uint32_t multiprocessors = 0;

  friend bool operator==(const HardwareSpec&, const HardwareSpec&) = default;
};

// INVALID_ARGUMENT naming the first bad field, its value and what is accepted.
absl::Status Validate(const HardwareSpec& hardware);

// H100 or H200, in any case. INVALID_ARGUMENT lists the names.
absl::StatusOr<HardwareSpec> NamedHardware(absl::string_view name);

// The accepted names.
std::vector<absl::string_view> HardwareNames();

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_COST_HARDWARE_SPEC_H_
