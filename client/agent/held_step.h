// A step as the agent keeps it: whole, and as each of its ranks is sent it.
#ifndef EVENPACK_CLIENT_AGENT_HELD_STEP_H_
#define EVENPACK_CLIENT_AGENT_HELD_STEP_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/api_messages.h"
#include "server/core/digest/digest.h"
#include "server/runtime/mutex.h"

namespace evenpack::agent {

// `step`, which is of a subscription without a cp_rank, becomes what the server sends
// one with it: the rank's slices are added, and of token ids only theirs are left.
// DATA_LOSS: the step's shard plans can't be read.
absl::Status TakeView(uint32_t cp_rank, v1::Step& step);

// Thread-safe.
class HeldStep {
 public:
  // Bytes of an evenpack.v1.StreamStepsResponse, as the server would write them.
  using Encoded = std::shared_ptr<const std::string>;

  // Of a whole DP rank. DATA_LOSS: a digest that hasn't 16 bytes.
  static absl::StatusOr<std::shared_ptr<const HeldStep>> Whole(v1::Step step);
  // As one rank is sent it, whichever View is asked for.
  static absl::StatusOr<std::shared_ptr<const HeldStep>> OneView(v1::Step step);

  uint64_t index() const { return index_; }
  uint64_t epoch() const { return epoch_; }
  const Digest128& digest() const { return digest_; }
  const Digest128& previous_digest() const { return previous_digest_; }
  // Of the step alone; a view that was asked for takes about as much again.
  size_t bytes() const { return whole_->size(); }

  // For a subscription with that cp_rank, or without. Each is made once. Errors of
  // TakeView.
  absl::StatusOr<Encoded> View(std::optional<uint32_t> cp_rank) const;

 private:
  HeldStep() = default;
  static absl::StatusOr<std::shared_ptr<const HeldStep>> Make(v1::Step step,
                                                              bool one_view);

  // Constant after construction.
  uint64_t index_ = 0;
  uint64_t epoch_ = 0;
  Digest128 digest_;
  Digest128 previous_digest_;
  bool one_view_ = false;
  Encoded whole_;

  mutable Mutex mutex_;
  mutable std::map<uint32_t, Encoded> views_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack::agent

#endif  // EVENPACK_CLIENT_AGENT_HELD_STEP_H_
