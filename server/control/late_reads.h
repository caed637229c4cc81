// Reads jobs again that the store could not give for a while, so that an error that
// passes leaves none unreadable.
#ifndef EVENPACK_SERVER_CONTROL_LATE_READS_H_
#define EVENPACK_SERVER_CONTROL_LATE_READS_H_

#include <chrono>
#include <map>
#include <memory>

#include "server/control/job_registry.h"
#include "server/runtime/clock.h"

namespace evenpack {

// Not thread-safe, but beside all that the jobs do.
class LateReads {
 public:
  // Between the tries of a job: doubled from the first to the last, since where a disk
  // is at fault each may take long. One that is wanted (Job::TakeWanted) is tried again
  // after the first.
  static constexpr std::chrono::milliseconds kFirstPause{1000};
  static constexpr std::chrono::milliseconds kLastPause{60'000};

  // Both outlive it.
  LateReads(const JobRegistry& jobs, const Clock& clock) : jobs_(jobs), clock_(clock) {}

  // Reads those for which it is time, and returns when the store has answered.
  void ReadDue();

 private:
  struct Pace {
    Clock::TimePoint tried;
    std::chrono::milliseconds pause;
  };

  // Whether it is time for the job, of which the pace may be new.
  bool IsDue(const std::shared_ptr<Job>& job);

  const JobRegistry& jobs_;
  const Clock& clock_;
  // Of the jobs that are to be read.
  std::map<std::shared_ptr<Job>, Pace> paces_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CONTROL_LATE_READS_H_
