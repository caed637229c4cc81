// Whether a subscription can be had, and from which step.
#ifndef EVENPACK_SERVER_SESSIONS_SUBSCRIBE_CHECK_H_
#define EVENPACK_SERVER_SESSIONS_SUBSCRIBE_CHECK_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "server/sessions/subscription.h"
#include "server/sessions/subscription_table.h"

namespace evenpack {

// The first step to be sent. Errors as StreamSteps has them (packing_service.proto).
absl::StatusOr<uint64_t> CheckSubscribe(const SubscribeRequest& request,
                                        const SessionView& view);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SESSIONS_SUBSCRIBE_CHECK_H_
