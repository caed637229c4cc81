// Steps of a made-up history, and who asks for them.
#ifndef EVENPACK_TESTS_CLIENT_AGENT_MADE_STEPS_H_
#define EVENPACK_TESTS_CLIENT_AGENT_MADE_STEPS_H_

#include <gmock/gmock.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "client/agent/held_step.h"
#include "client/agent/step_fan.h"
#include "evenpack/v1/packing_service.pb.h"
#include "server/core/digest/digest_bytes.h"
#include "server/sessions/subscription.h"
#include "tests/testing/status_matchers.h"

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

// Takes a step and marks it received; its index.
inline std::optional<uint64_t> TakeStep(agent::StepFan& fan,
                                        const agent::StepFan::Local& local) {
  const agent::LocalMessage next = fan.Next(*local);
  const auto* held = std::get_if<agent::SendHeld>(&next);
  if (held == nullptr) return std::nullopt;
  EXPECT_THAT(fan.Received(*local, held->step->index()), IsOk());
  return held->step->index();
}

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
