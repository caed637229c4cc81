#include "server/service/job_conversion.h"

#include "evenpack/v1/job.pb.h"
#include "server/core/digest/digest_bytes.h"
#include "server/service/spec_conversion.h"

namespace evenpack {

void ToProto(const JobStatus& status, v1::Job& to) {
  to.set_name(status.name);
  *to.mutable_spec() = DescriptionOf(*status.spec);
  to.set_epoch(status.epoch);
  to.set_next_step(status.next_step);
  to.set_durable_steps(status.durable_steps);
  to.set_oldest_step(status.oldest_step);
  to.set_digest(DigestBytes(status.digest));
  for (const StreamStatus& stream : status.streams) {
    v1::StreamStatus& told = *to.add_streams();
    told.set_name(stream.name);
    told.set_next_sequence(stream.next_sequence);
    told.set_ended(stream.ended);
    told.set_buffered_documents(stream.buffered_documents);
    told.set_buffered_tokens(stream.buffered_tokens);
    for (const SequenceRange& range : stream.skipped) {
      v1::SequenceRange& skipped = *told.add_skipped();
      skipped.set_first_sequence(range.first);
      skipped.set_documents(range.end - range.first);
    }
  }
  to.set_waiting_documents(status.waiting_documents);
  to.set_waiting_tokens(status.waiting_tokens);
  to.set_drained(status.drained);
  to.set_subscribers(static_cast<uint32_t>(status.subscribers));
  to.mutable_durable_steps_per_rank()->Add(status.durable_steps_per_rank.begin(),
                                           status.durable_steps_per_rank.end());
  to.set_policy_version(status.spec->policy.version);
}

}  // namespace evenpack
