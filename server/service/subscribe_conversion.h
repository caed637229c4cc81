// evenpack.v1.Subscribe as the sessions take it.
#ifndef EVENPACK_SERVER_SERVICE_SUBSCRIBE_CONVERSION_H_
#define EVENPACK_SERVER_SERVICE_SUBSCRIBE_CONVERSION_H_

#include "absl/status/statusor.h"
#include "server/sessions/subscription.h"

namespace evenpack::v1 {
class Subscribe;
}

namespace evenpack {

// INVALID_ARGUMENT for a digest or a layout that is none; what else can't be had is for
// the sessions to say.
absl::StatusOr<SubscribeRequest> FromProto(const v1::Subscribe& from);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_SUBSCRIBE_CONVERSION_H_
