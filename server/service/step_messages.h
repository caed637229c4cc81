// Steps as bytes for the transport: an evenpack.v1.StreamStepsResponse that holds the
// step.
#ifndef EVENPACK_SERVER_SERVICE_STEP_MESSAGES_H_
#define EVENPACK_SERVER_SERVICE_STEP_MESSAGES_H_

#include <cstddef>
#include <memory>

#include "server/service/step_conversion.h"
#include "server/sessions/published_step.h"

namespace grpc {
class ByteBuffer;
}

namespace evenpack {

grpc::ByteBuffer EncodeStep(const PublishedStep& step, const StepView& view);

// Encodes once for all who get the same view. Keeps no step from being freed.
// Thread-safe. Buffers share their bytes.
class StepMessages {
 public:
  // What a message counts for beside its own bytes: its buffer, its place, and the
  // memory of the step itself, which goes with the last message of it.
  static constexpr size_t kBytesBeside = sizeof(PublishedStep) + 512;

  // `capacity`: bytes that are kept for the next who asks.
  explicit StepMessages(size_t capacity);
  ~StepMessages();

  grpc::ByteBuffer Get(const std::shared_ptr<const PublishedStep>& step,
                       const StepView& view);

 private:
  struct Cache;
  const std::unique_ptr<Cache> cache_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_STEP_MESSAGES_H_
