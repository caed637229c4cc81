#include "client/python/bindings/step_message.h"

#include "client/cpp/token_ids.h"
#include "server/core/digest/digest_bytes.h"
#include "server/core/sharding/plan_digest.h"
#include "server/service/step_conversion.h"

namespace evenpack::python {

v1::MicroBatch MessageOf(const client::MicroBatchView& view) {
  v1::MicroBatch to;
  to.set_index(view.index());
  ToProto(view.documents(), *to.mutable_documents());
  client::AppendTokenIds(view.token_ids(),
                         *to.mutable_documents()->mutable_token_ids());
  to.set_tokens(view.tokens());
  to.set_padding(view.padding());
  to.set_loss_tokens(view.loss_tokens());
  to.set_sum_squared_lengths(view.sum_squared_lengths());
  to.set_workload_ns(view.workload_ns());
  to.set_digest(DigestBytes(view.digest()));
  ToProto(view.plan(), PlanDigest(view.plan()), view.rank_tokens(), view.rank_padding(),
          *to.mutable_plan());
  if (view.cp_rank().has_value()) {
    ToProto(*view.cp_rank(), view.own_slices(), *to.mutable_slices());
  }
  return to;
}

v1::Step MessageOf(const client::RankStep& step) {
  v1::Step to;
  to.set_index(step.index());
  to.set_epoch(step.epoch());
  to.set_kind(ToProto(step.kind()));
  to.set_dp_rank(step.dp_rank());
  for (const client::MicroBatchView& view : step.micro_batches()) {
    *to.add_micro_batches() = MessageOf(view);
  }
  for (const Digest128& digest : step.micro_batch_digests()) {
    AppendDigest(digest, *to.mutable_micro_batch_digests());
  }
  to.set_digest(DigestBytes(step.digest()));
  to.set_previous_digest(DigestBytes(step.previous_digest()));
  const client::StepTotals& totals = step.totals();
  v1::StepTotals& all = *to.mutable_totals();
  all.set_tokens(totals.tokens);
  all.set_padding(totals.padding);
  all.set_loss_tokens(totals.loss_tokens);
  all.set_sum_squared_lengths(totals.sum_squared_lengths);
  all.set_max_workload_ns(totals.max_workload_ns);
  all.set_total_workload_ns(totals.total_workload_ns);
  all.set_micro_batches(totals.micro_batches);
  return to;
}

}  // namespace evenpack::python
