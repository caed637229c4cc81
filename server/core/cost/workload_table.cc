#include "server/core/cost/workload_table.h"

#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {

absl::StatusOr<WorkloadTable> WorkloadTable::Create(LengthCurve attention,
                                                    LengthCurve linear) {
  if (attention.max_tokens() != linear.max_tokens()) {
    return InvalidField("linear.max_tokens", linear.max_tokens(),
                        absl::StrCat(attention.max_tokens(), ", as attention has it"));
  }
  return WorkloadTable(std::move(attention), std::move(linear));
}

}  // namespace evenpack
