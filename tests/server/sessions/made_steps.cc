#include "tests/server/sessions/made_steps.h"

#include <utility>

#include "tests/testing/test_documents.h"
#include "tests/testing/test_job.h"

namespace evenpack::testing {
namespace {

Step MakeStep(uint64_t index, const Digest128& previous) {
  Step step;
  step.index = index;
  for (uint64_t i = 0; i < 4; ++i) {
    MicroBatch& micro_batch = step.micro_batches.emplace_back();
    micro_batch.documents = MakeDocuments({50, 50});
    for (Document& document : micro_batch.documents) {
      document.sequence += index * 8 + i * 2;
      document.id = document.sequence;
    }
    micro_batch.tokens = 100;
    micro_batch.workload_ns = 1000;
    micro_batch.sharding = Sharding::kPerDocument;
  }
  AddDigests(step);
  step.digest = StepDigest(previous, step);
  return step;
}

}  // namespace

JobSpec SmallSpec() {
  JobSpec spec = MakeSpec(PolicyKind::kOriginal, 4, 100);
  spec.data_parallel = 2;
  spec.context_parallel = 2;
  return spec;
}

std::vector<StepPointer> MakeSteps(uint64_t first, uint64_t count,
                                   const Digest128& previous) {
  const auto spec = std::make_shared<const JobSpec>(SmallSpec());
  std::vector<StepPointer> steps;
  Digest128 before = previous;
  for (uint64_t index = first; index < first + count; ++index) {
    Step step = MakeStep(index, before);
    const Digest128 digest = step.digest;
    steps.push_back(Publish(std::move(step), before, spec, {}).value());
    before = digest;
  }
  return steps;
}

}  // namespace evenpack::testing
