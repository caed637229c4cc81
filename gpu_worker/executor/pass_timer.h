// How long a pass computes, and how long it waits for its peers.
#ifndef EVENPACK_GPU_WORKER_EXECUTOR_PASS_TIMER_H_
#define EVENPACK_GPU_WORKER_EXECUTOR_PASS_TIMER_H_

#include <cstdint>
#include <memory>

#include "gpu_worker/device/device.h"
#include "server/runtime/clock.h"

namespace evenpack::worker {

// Nanoseconds.
struct PassTimes {
  // In calls of the engine. On a device that works later than it is asked, in all of
  // the pass but the waits.
  int64_t computed_ns = 0;
  // In waits for transfers: what of the exchanges computing did not hide.
  int64_t waited_ns = 0;

  friend bool operator==(const PassTimes&, const PassTimes&) = default;
};

// Takes the times of one pass: by a clock where calls return when they are done, else
// by marks in the device's order. Must not outlive either.
class PassTimer {
 public:
  // The pass begins.
  static std::unique_ptr<PassTimer> Begin(Device& device, const Clock& clock);
  virtual ~PassTimer() = default;

  virtual void End() = 0;
  // Around what is timed; neither within the other.
  virtual void BeginComputing() = 0;
  virtual void EndComputing() = 0;
  virtual void BeginWaiting() = 0;
  virtual void EndWaiting() = 0;

  // Of a pass that the device has done; none of one that failed.
  virtual PassTimes Times() const = 0;
  // Whether that is so as soon as the pass has ended.
  virtual bool knows_at_end() const = 0;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_EXECUTOR_PASS_TIMER_H_
