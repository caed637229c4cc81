// Model shapes known by name: the five sizes of WLB-LLM's evaluation.
#ifndef EVENPACK_SERVER_CORE_COST_NAMED_MODELS_H_
#define EVENPACK_SERVER_CORE_COST_NAMED_MODELS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/core/cost/model_spec.h"

namespace evenpack {

// 550M, 7B, 30B, 70B or 405B, in any case. INVALID_ARGUMENT lists the names. The
// sources of the shapes stand in the implementation and in docs/cost-models.md.
absl::StatusOr<ModelSpec> NamedModel(absl::string_view name);

// The accepted names, smallest model first.
std::vector<absl::string_view> ModelNames();

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_COST_NAMED_MODELS_H_
