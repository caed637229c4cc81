#include "client/cli/simulation/plan_size.h"

#include <memory>

#include "evenpack/v1/step.pb.h"
#include "server/service/step_conversion.h"
#include "server/sessions/published_step.h"

namespace evenpack {

absl::StatusOr<uint64_t> PlanBytes(const Step& step, const JobSpec& spec) {
  const auto published =
      Publish(step, Digest128(), std::make_shared<const JobSpec>(spec), {});
  if (!published.ok()) return published.status();
  v1::Step message;
  ToProto(**published, StepView{0, 0}, message);
  return message.ByteSizeLong();
}

}  // namespace evenpack
