// Where a consumer stands in its job's history: behind the last step that came.
#ifndef EVENPACK_CLIENT_CPP_CONSUMER_CURSOR_H_
#define EVENPACK_CLIENT_CPP_CONSUMER_CURSOR_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/rank_step.h"
#include "server/core/digest/digest.h"

namespace evenpack::client {

struct StepPosition {
  // The step that is next. None: whichever the server starts with.
  std::optional<uint64_t> next;
  // Digest of step next - 1. None where it isn't known.
  std::optional<Digest128> digest;
  // Its epoch, likewise.
  std::optional<uint64_t> epoch = std::nullopt;

  friend bool operator==(const StepPosition&, const StepPosition&) = default;
};

// Not thread-safe. Both are known once Subscribed() was OK, which goes before Came()
// and Drained().
class ConsumerCursor {
 public:
  explicit ConsumerCursor(const StepPosition& start) : position_(start) {}

  const StepPosition& position() const { return position_; }
  void MoveTo(const StepPosition& position) { position_ = position; }

  // The server starts at `from_step`, after a step of digest `previous`. DATA_LOSS:
  // that is not where this cursor is.
  absl::Status Subscribed(uint64_t from_step, const Digest128& previous);
  // A step came. True: it is the next one, and as it should be (VerifyStep); false: it
  // came before. DATA_LOSS: one between is missing, or it is damaged.
  absl::StatusOr<bool> Came(const RankStep& step);
  // The server says that the job had so many steps, the last of `digest`. DATA_LOSS:
  // not those that came.
  absl::Status Drained(uint64_t steps, const Digest128& digest) const;

 private:
  StepPosition position_;
};

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_CONSUMER_CURSOR_H_
