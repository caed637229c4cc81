#include "client/cpp/verify_step.h"

#include <cstddef>
#include <cstdint>

#include "client/cpp/data_loss.h"
#include "client/cpp/wire_digest.h"
#include "server/core/document/micro_batch.h"
#include "server/core/sharding/plan_digest.h"
#include "server/core/sharding/shard_plan.h"

namespace evenpack::client {
namespace {

template <typename... Parts>
absl::Status Differs(const RankStep& step, const Parts&... parts) {
  return DataLoss("step ", step.index(), parts...);
}

absl::Status CheckDigest(const RankStep& step, const MicroBatchView& view,
                         const char* of, const Digest128& claimed,
                         const Digest128& computed) {
  if (claimed == computed) return absl::OkStatus();
  return Differs(step, ", micro-batch ", view.index(), ": digest of the ", of, " is ",
                 ToHex(computed), ", the step says ", ToHex(claimed));
}

absl::Status CheckChain(const RankStep& step, const Digest128& previous) {
  if (step.previous_digest() != previous) {
    return Differs(step, ": follows ", ToHex(step.previous_digest()),
                   ", but the step before has ", ToHex(previous));
  }
  const Digest128 digest =
      StepDigestOf(previous, step.index(), step.micro_batch_digests());
  if (step.digest() != digest) {
    return Differs(step, ": digest of its micro-batches is ", ToHex(digest),
                   ", the step says ", ToHex(step.digest()));
  }
  return absl::OkStatus();
}

absl::Status CheckSlices(const RankStep& step, const MicroBatchView& view) {
  const uint32_t rank = *view.cp_rank();
  absl::Status status = CheckDigest(step, view, "slices", view.slices_digest(),
                                    RankSlicesDigest(rank, view.own_slices()));
  if (!status.ok()) return status;
  if (view.own_slices() != view.Slices(rank) ||
      view.own_slices().tokens != view.rank_tokens()[rank]) {
    return Differs(step, ", micro-batch ", view.index(), ": slices of cp_rank ", rank,
                   " are not those of the shard plan");
  }
  return absl::OkStatus();
}

absl::Status CheckMicroBatch(const RankStep& step, const MicroBatchView& view,
                             uint64_t expected_index) {
  if (view.index() != expected_index ||
      expected_index >= step.micro_batch_digests().size()) {
    return Differs(step, ", micro-batch ", view.index(), ": came where micro-batch ",
                   expected_index, " of ", step.micro_batch_digests().size(),
                   " is expected");
  }
  const Digest128 digest = MicroBatchDigest(view.micro_batch());
  absl::Status status = CheckDigest(step, view, "documents", view.digest(), digest);
  status.Update(CheckDigest(step, view, "documents",
                            step.micro_batch_digests()[expected_index], digest));
  status.Update(CheckDigest(step, view, "shard plan", view.plan_digest(),
                            PlanDigest(view.plan())));
  if (status.ok() && view.cp_rank().has_value()) status = CheckSlices(step, view);
  return status;
}

}  // namespace

absl::Status VerifyStep(const RankStep& step, const Digest128& previous) {
  if (absl::Status status = CheckChain(step, previous); !status.ok()) return status;
  uint64_t expected = uint64_t{step.dp_rank()} * step.micro_batches().size();
  for (const MicroBatchView& view : step.micro_batches()) {
    absl::Status status = CheckMicroBatch(step, view, expected++);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace evenpack::client
