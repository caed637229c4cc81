// Steps of a made-up history, and who asks for them.
#ifndef EVENPACK_TESTS_CLIENT_AGENT_MADE_STEPS_H_
#define EVENPACK_TESTS_CLIENT_AGENT_MADE_STEPS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "client/agent/held_step.h"
#include "evenpack/v1/packing_service.pb.h"
#include "server/core/digest/digest_bytes.h"
#include "server/sessions/subscription.h"

namespace evenpack::testing {

inline constexpr uint64_t kEpoch = 3;

inline Digest128 DigestOf(uint64_t steps) { return {steps, ~steps}; }

inline std::shared_ptr<const agent::HeldStep> MadeStep(uint64_t index,
                                                       uint64_t seed = 0,
                                                       uint64_t epoch = kEpoch) {
  v1::Step step;
  step.set_index(index);
  step.set_epoch(epoch);
  step.set_previous_digest(DigestBytes(DigestOf(index + seed)));
  step.set_digest(DigestBytes(DigestOf(index + 1 + seed)));
  return agent::HeldStep::Whole(std::move(step)).value();
}

class NeverWoken final : public Subscriber {
 public:
  void Wake() override {}
};

inline SubscribeRequest Asks(const std::string& name, bool durable = false,
                             std::optional<uint32_t> cp_rank = std::nullopt) {
  SubscribeRequest request;
  request.subscriber = name;
  request.sends_durable = durable;
  request.cp_rank = cp_rank;
  return request;
}

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_CLIENT_AGENT_MADE_STEPS_H_
