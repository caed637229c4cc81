// The committed steps of a job that were not let go.
#ifndef EVENPACK_SERVER_SESSIONS_STEP_WINDOW_H_
#define EVENPACK_SERVER_SESSIONS_STEP_WINDOW_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/digest/digest.h"
#include "server/core/document/step.h"
#include "server/sessions/published_step.h"

namespace evenpack {

// OUT_OF_RANGE for a step below `oldest`, the oldest that is kept.
absl::Status StepLetGo(uint64_t step, uint64_t oldest);

// Not thread-safe: the job's lock guards it.
class StepWindow {
 public:
  // Empty, before step `begin`, whose predecessor has `digest`, and `let_go_epoch`
  // where that is known.
  explicit StepWindow(uint64_t begin = 0, const Digest128& digest = GenesisDigest(),
                      std::optional<uint64_t> let_go_epoch = std::nullopt)
      : begin_(begin), last_digest_(digest), let_go_epoch_(let_go_epoch) {}

  // Kept steps are begin() to end() - 1.
  uint64_t begin() const { return begin_; }
  uint64_t end() const { return begin_ + steps_.size(); }
  // Of step end() - 1.
  const Digest128& last_digest() const { return last_digest_; }

  // Step end().
  void Publish(std::shared_ptr<const PublishedStep> step);
  // Steps from `from` on are no longer true; begin() <= from <= end().
  void Withdraw(uint64_t from);
  // Steps before `before` (at most end()) are no longer kept. Returns them, in order.
  std::vector<std::shared_ptr<const PublishedStep>> LetGo(uint64_t before);

  // Null for a step that isn't kept. Fast: what a subscription asks for each step.
  std::shared_ptr<const PublishedStep> Get(uint64_t index) const;
  // OUT_OF_RANGE naming the oldest kept step, or the next to be decided.
  absl::StatusOr<std::shared_ptr<const PublishedStep>> Find(uint64_t index) const;
  // Of step index - 1, for begin() <= index <= end().
  std::optional<Digest128> DigestBefore(uint64_t index) const;
  // Likewise; nothing where it was let go and is not known.
  std::optional<uint64_t> EpochBefore(uint64_t index) const;

 private:
  uint64_t begin_;
  std::deque<std::shared_ptr<const PublishedStep>> steps_;
  Digest128 last_digest_;
  // Of the last step that was let go.
  std::optional<uint64_t> let_go_epoch_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SESSIONS_STEP_WINDOW_H_
