// When a server looks at what its connections have sent.
#ifndef EVENPACK_SERVER_APP_LOOK_PACE_H_
#define EVENPACK_SERVER_APP_LOOK_PACE_H_

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "server/runtime/clock.h"

namespace evenpack {

enum class Look { kNone, kBusy, kAll };

struct LookPaceOptions {
  // How often those are looked at that are new or send much; all are every fourth time.
  std::chrono::milliseconds each{250};
  // A connection brings a gigabyte a second. All are looked at as soon as the process'
  // memory has grown by so much, which is asked for so often.
  uint64_t growth = 32 << 20;
  std::chrono::milliseconds glance_each{25};

  // How often to ask for a look: a glance, where looks are no farther apart.
  std::chrono::milliseconds interval() const { return std::min(glance_each, each); }
};

// Not thread-safe.
class LookPace {
 public:
  LookPace(Clock::TimePoint now, uint64_t resident_bytes,
           const LookPaceOptions& options);

  // Which are to be looked at now.
  Look Next(Clock::TimePoint now, uint64_t resident_bytes);

 private:
  const LookPaceOptions options_;
  Clock::TimePoint next_look_;
  Clock::TimePoint next_glance_;
  uint64_t looks_ = 0;
  // What there was when all were looked at, or less since.
  uint64_t resident_bytes_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_APP_LOOK_PACE_H_
