#include "server/app/look_pace.h"

#include <algorithm>

namespace evenpack {

LookPace::LookPace(Clock::TimePoint now, uint64_t resident_bytes,
                   const LookPaceOptions& options)
    : options_(options),
      next_look_(now + options.each),
      next_glance_(now + options.interval()),
      resident_bytes_(resident_bytes) {}

Look LookPace::Next(Clock::TimePoint now, uint64_t resident_bytes) {
  if (now < next_glance_) return Look::kNone;
  next_glance_ = now + options_.interval();
  resident_bytes_ = std::min(resident_bytes_, resident_bytes);
  const bool has_grown = resident_bytes - resident_bytes_ >= options_.growth;
  if (!has_grown && now < next_look_) return Look::kNone;
  next_look_ = now + options_.each;
  if (!has_grown && ++looks_ % 4 != 0) return Look::kBusy;
  resident_bytes_ = resident_bytes;
  return Look::kAll;
}

}  // namespace evenpack
