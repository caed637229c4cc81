#include "server/core/document/step.h"

namespace evenpack {

absl::string_view StepKindName(StepKind kind) {
  switch (kind) {
    case StepKind::kFullBatch:
      return "full_batch";
    case StepKind::kBacklog:
      return "backlog";
    case StepKind::kDrain:
      return "drain";
  }
  return "unknown";
}

uint64_t StepTokens(const Step& step) {
  uint64_t tokens = 0;
  for (const MicroBatch& micro_batch : step.micro_batches) tokens += micro_batch.tokens;
  return tokens;
}

Digest128 GenesisDigest() {
  DigestBuilder builder;
  builder.Text("evenpack.step.v1");
  return builder.Finish();
}

void AddDigests(Step& step) {
  for (MicroBatch& micro_batch : step.micro_batches) {
    micro_batch.digest = MicroBatchDigest(micro_batch);
  }
}

Digest128 StepDigest(const Digest128& previous, const Step& step) {
  DigestBuilder builder;
  builder.Add(previous);
  builder.Word(step.index);
  builder.Word(step.micro_batches.size());
  for (const MicroBatch& micro_batch : step.micro_batches) {
    builder.Add(micro_batch.digest);
  }
  return builder.Finish();
}

}  // namespace evenpack
