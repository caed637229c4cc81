// Steps that came and wait for the trainer, and how many more the server may send.
#ifndef EVENPACK_CLIENT_CPP_STEP_BUFFER_H_
#define EVENPACK_CLIENT_CPP_STEP_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "client/cpp/rank_step.h"

namespace evenpack::client {

// A step is marked received, which lets the server send another, when it comes rather
// than when it is handed out, so that the buffer fills. The mark is held back where the
// steps here, and those that the server may send already, would be more than the
// bounds; of steps that have not come it is assumed that they are as large as the
// largest so far. An empty buffer may always have one.
//
// A call begins with all credits, whatever waits here: the bounds may be exceeded by
// credits() steps after a call was lost, and until the first step's size is known.
//
// Not thread-safe.
class StepBuffer {
 public:
  struct Bounds {
    // Steps that wait here, and what they take (RankStep::memory_bytes). At least 1.
    uint64_t steps = 0;
    uint64_t bytes = 0;
    // Steps that a call may have under way. At least 1.
    uint32_t credits = 0;
  };

  explicit StepBuffer(const Bounds& bounds) : bounds_(bounds) {}

  bool empty() const { return steps_.empty(); }
  size_t size() const { return steps_.size(); }
  uint64_t bytes() const { return bytes_; }
  // For one step more.
  bool HasRoom() const { return empty() || Fits(1); }
  // What a call asks for: no more than all that may wait here.
  uint32_t credits() const;

  // A call was subscribed that begins with this step.
  void BeginCall(uint64_t from_step);
  // The call's next step came.
  void Push(RankStep step);
  // The oldest step; there must be one.
  RankStep Pop();
  void Clear();

  // The step up to which the call's steps are to be marked received now; none where
  // nothing is to be said.
  std::optional<uint64_t> TakeReceived();

 private:
  struct Held {
    RankStep step;
    uint64_t bytes = 0;
  };

  // So many steps more.
  bool Fits(uint64_t steps) const;
  // Steps that the server may send of this call.
  uint64_t granted() const { return received_end_ + credits() - came_end_; }

  const Bounds bounds_;
  std::deque<Held> steps_;
  uint64_t bytes_ = 0;
  // Of any step so far.
  uint64_t largest_ = 0;
  // Of this call: steps below came, or were marked received.
  uint64_t came_end_ = 0;
  uint64_t received_end_ = 0;
};

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_STEP_BUFFER_H_
