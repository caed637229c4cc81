#include "client/cpp/consumer_cursor.h"

#include "client/cpp/data_loss.h"
#include "client/cpp/verify_step.h"

namespace evenpack::client {

absl::Status ConsumerCursor::Subscribed(uint64_t from_step, const Digest128& previous) {
  if (from_step != position_.next.value_or(from_step)) {
    return DataLoss("from_step: the server starts at step ", from_step, ", step ",
                    *position_.next, " is next");
  }
  if (from_step == 0 && previous != GenesisDigest()) {
    return DataLoss("previous_digest: ", ToHex(previous),
                    " before step 0; expected: ", ToHex(GenesisDigest()));
  }
  if (previous != position_.digest.value_or(previous)) {
    return DataLoss("previous_digest: the server has ", ToHex(previous), " for step ",
                    from_step - 1, ", here it has ", ToHex(*position_.digest));
  }
  position_.next = from_step;
  position_.digest = previous;
  return absl::OkStatus();
}

absl::StatusOr<bool> ConsumerCursor::Came(const RankStep& step) {
  if (step.index() < *position_.next) return false;
  if (step.index() > *position_.next) {
    return DataLoss("step ", step.index(), ": came where step ", *position_.next,
                    " is next");
  }
  if (absl::Status status = VerifyStep(step, *position_.digest); !status.ok()) {
    return status;
  }
  position_ = {step.index() + 1, step.digest(), step.epoch()};
  return true;
}

absl::Status ConsumerCursor::Drained(uint64_t steps, const Digest128& digest) const {
  if (steps == *position_.next && digest == *position_.digest) return absl::OkStatus();
  return DataLoss("drained: the job had ", steps, " steps, the last of digest ",
                  ToHex(digest), "; ", *position_.next, " came, the last of digest ",
                  ToHex(*position_.digest));
}

}  // namespace evenpack::client
