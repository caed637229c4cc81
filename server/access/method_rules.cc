#include "server/access/method_rules.h"

#include <algorithm>

namespace evenpack {
namespace {

using enum NeededRole;
using enum JobScope;

// By method, so that it can be searched.
constexpr MethodRule kRules[] = {
    {"Acknowledge", kConsumer, kNamed, {"job"}},
    {"CheckpointJob", kOperator, kNamed, {"name"}},
    {"CreateJob", kOperator, kNamed, {"name"}},
    {"DeleteCostProfile", kOperator, kEveryJob},
    {"DeleteJob", kOperator, kNamed, {"name"}},
    {"ForkJob", kOperator, kNamed, {"name", "new_name"}},
    {"GetCostProfile", kAny, kSome},
    {"GetJob", kAny, kNamed, {"name"}},
    {"GetLatency", kConsumer, kNamed, {"job"}},
    {"GetStep", kConsumer, kNamed, {"job"}},
    {"Ingest", kProducer, kNamed, {"open.job"}},
    {"JoinGroup", kConsumer, kNamed, {"open.job"}},
    {"ListCostProfiles", kAny, kSome},
    {"ListJobs", kAny, kSome},
    {"ObserveJob", kConsumer, kNamed, {"job"}},
    {"ObserveMicroBatch", kConsumer, kNamed, {"job"}},
    {"PutCostProfile", kOperator, kEveryJob},
    {"ReportLatency", kConsumer, kNamed, {"job"}},
    {"RestoreJob", kOperator, kNamed, {"name"}},
    {"RewindJob", kOperator, kNamed, {"name"}},
    {"SkipDocuments", kOperator, kNamed, {"name"}},
    {"StreamSteps", kConsumer, kNamed, {"subscribe.job"}},
    {"UpdateJob", kOperator, kNamed, {"name"}},
};
static_assert(std::ranges::is_sorted(kRules, {}, &MethodRule::method));

}  // namespace

std::span<const MethodRule> MethodRules() { return kRules; }

const MethodRule* FindMethodRule(std::string_view method) {
  const auto* const rule =
      std::ranges::lower_bound(kRules, method, {}, &MethodRule::method);
  return rule != std::end(kRules) && rule->method == method ? rule : nullptr;
}

}  // namespace evenpack
