// Whether a subscription can be had, and from which step.
#ifndef EVENPACK_SERVER_SESSIONS_SUBSCRIBE_CHECK_H_
#define EVENPACK_SERVER_SESSIONS_SUBSCRIBE_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/sessions/subscription.h"
#include "server/sessions/subscription_table.h"

namespace evenpack {

// The first step to be sent. Errors as StreamSteps has them (packing_service.proto).
absl::StatusOr<uint64_t> CheckSubscribe(const SubscribeRequest& request,
                                        const SessionView& view);

// Whether the spec's layout is one that is asked for.
bool TakesLayout(const SubscribeRequest& request, const JobSpec& spec);
// FAILED_PRECONDITION of one that isn't; `whose` names the spec's: "the job's".
absl::Status LayoutDiffers(const SubscribeRequest& request, const JobSpec& spec,
                           absl::string_view whose);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SESSIONS_SUBSCRIBE_CHECK_H_
