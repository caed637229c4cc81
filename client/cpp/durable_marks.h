// A DP rank's durable marks, from the trainer's word to the server's confirmation.
#ifndef EVENPACK_CLIENT_CPP_DURABLE_MARKS_H_
#define EVENPACK_CLIENT_CPP_DURABLE_MARKS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"

namespace evenpack::client {

// Not thread-safe.
class DurableMarks {
 public:
  struct Mark {
    uint64_t step = 0;
    // Of that step.
    uint64_t epoch = 0;

    friend bool operator==(const Mark&, const Mark&) = default;
  };

  // Of a trainer that goes on at step `next` from a checkpoint, behind a step of this
  // epoch; where either isn't known, of one that has no step yet.
  static DurableMarks Behind(std::optional<uint64_t> next,
                             std::optional<uint64_t> epoch);

  // A step was handed out; they rise.
  void HandedOut(uint64_t step, uint64_t epoch);
  // The trainer made steps up to and including this one durable. INVALID_ARGUMENT: it
  // was not handed out.
  absl::Status Wanted(uint64_t step);
  // So many steps are durable, the server says.
  void Confirmed(uint64_t durable_steps) { durable_steps_ = durable_steps; }

  // This mark, which was pending, may be sent: what is to come before it came, or
  // won't.
  void Released(const Mark& mark);

  // The highest mark that isn't confirmed: marks are cumulative, so it stands for all.
  std::optional<Mark> Pending() const { return Unconfirmed(wanted_); }
  // The highest that may be sent.
  std::optional<Mark> Sendable() const { return Unconfirmed(released_); }
  uint64_t durable_steps() const { return durable_steps_; }

 private:
  std::optional<Mark> Unconfirmed(const std::optional<Mark>& mark) const;

  // The first step of each epoch among those handed out.
  std::vector<Mark> epochs_;
  uint64_t handed_out_end_ = 0;
  std::optional<Mark> wanted_;
  std::optional<Mark> released_;
  uint64_t durable_steps_ = 0;
};

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_DURABLE_MARKS_H_
