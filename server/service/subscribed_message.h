// What a subscriber is told first, as bytes for the transport: an
// evenpack.v1.StreamStepsResponse with `subscribed`.
#ifndef EVENPACK_SERVER_SERVICE_SUBSCRIBED_MESSAGE_H_
#define EVENPACK_SERVER_SERVICE_SUBSCRIBED_MESSAGE_H_

#include <grpcpp/support/byte_buffer.h>

#include "server/control/job_status.h"

namespace evenpack {

// The job's spec, of up to a MiB, is none of its own but the job's, which stays for as
// long as the message does: all ranks of a job are told at once after an update.
grpc::ByteBuffer EncodeSubscribed(const Subscribed& subscribed);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_SUBSCRIBED_MESSAGE_H_
