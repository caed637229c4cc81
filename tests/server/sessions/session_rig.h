// A job as the sessions room sees it, and subscribers that count.
#ifndef EVENPACK_TESTS_SERVER_SESSIONS_SESSION_RIG_H_
#define EVENPACK_TESTS_SERVER_SESSIONS_SESSION_RIG_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "server/sessions/subscription_table.h"
#include "tests/server/sessions/made_steps.h"

namespace evenpack::testing {

// A job of SmallSpec() in epoch 2 that has decided no step.
struct SessionRig {
  JobSpec spec = SmallSpec();
  StepWindow window;
  uint64_t epoch = 2;
  bool drained = false;
  std::vector<uint64_t> durable = {0, 0};

  SessionView view() const { return {window, spec, epoch, drained, durable}; }

  void PublishSteps(uint64_t count) {
    for (const StepPointer& step :
         MakeSteps(window.end(), count, window.last_digest())) {
      window.Publish(step);
    }
  }
  // Both ranks have made the steps before `steps` durable.
  void LetGo(uint64_t steps) {
    durable = {steps, steps};
    window.LetGo(steps);
  }
};

class NullSubscriber final : public Subscriber {
 public:
  void Wake() override {}
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_SERVER_SESSIONS_SESSION_RIG_H_
