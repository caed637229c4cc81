#include "server/core/sharding/pad_end.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/core/document/document.h"
#include "server/core/document/invalid_field.h"
#include "server/core/sharding/sequence_plan.h"

namespace evenpack {

absl::Status PadEnd(uint64_t padded_tokens, ShardPlan& plan) {
  if (padded_tokens == plan.padded_tokens) return absl::OkStatus();
  const uint64_t multiple = std::max(plan.pad_multiple, 1U);
  const uint64_t most = plan.documents() == 0 ? 0 : kMaxDocumentLength;
  if (padded_tokens < plan.padded_tokens || padded_tokens > most ||
      padded_tokens % multiple != 0) {
    return InvalidField("padded_tokens", padded_tokens,
                        absl::StrCat(plan.padded_tokens, ", or a multiple of ",
                                     multiple, " above that, up to ", most));
  }
  if (plan.pad_multiple != 0 && plan.sharding == Sharding::kPerDocument) {
    const uint64_t more = padded_tokens - plan.padded_tokens;
    plan.slot_tokens.back() += static_cast<uint32_t>(more / plan.slots());
  }
  plan.padded_tokens = padded_tokens;
  if (plan.pad_multiple != 0 && plan.sharding != Sharding::kPerDocument) {
    CutSequence(plan);
  }
  return absl::OkStatus();
}

}  // namespace evenpack
