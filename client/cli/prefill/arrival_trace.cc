#include "client/cli/prefill/arrival_trace.h"

#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "client/cli/prefill/exponential_draw.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

constexpr double kPsPerSecond = 1e12;
constexpr uint64_t kPsPerNs = 1000;
constexpr uint64_t kMostArrivalPs = uint64_t{kMostArrivalNs} * kPsPerNs;
// In bursts; between them the rate is by as much less. A quarter of the time at 3 times
// and three quarters at a third come to the mean.
constexpr uint64_t kBurstFactor = 3;
constexpr uint64_t kCalmPerBurst = 3;

std::mt19937_64 Seeded(uint64_t seed) {
  std::seed_seq seeds{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32),
                      uint32_t{0}};
  return std::mt19937_64(seeds);
}

uint64_t Picoseconds(double seconds) {
  return static_cast<uint64_t>(std::llround(seconds * kPsPerSecond));
}

class ArrivalDraw {
 public:
  explicit ArrivalDraw(const ArrivalSpec& spec)
      : bursty_(spec.pattern == ArrivalPattern::kBursty),
        gap_(Picoseconds(1 / spec.rate)),
        burst_(Picoseconds(spec.burst_seconds)),
        generator_(Seeded(spec.seed)) {
    if (bursty_) phase_end_ = DrawExponential(kCalmPerBurst * burst_, generator_);
  }

  // Picoseconds; above kMostArrivalPs where it would take longer.
  uint64_t Next() {
    if (!bursty_) return now_ += DrawExponential(gap_, generator_);
    while (now_ <= kMostArrivalPs) {
      const uint64_t mean = in_burst_ ? gap_ / kBurstFactor : gap_ * kBurstFactor;
      const uint64_t next = now_ + DrawExponential(mean, generator_);
      if (next < phase_end_) return now_ = next;
      // What is left of a gap at a phase's end is as long as any: drawn anew.
      now_ = phase_end_;
      in_burst_ = !in_burst_;
      phase_end_ +=
          DrawExponential(in_burst_ ? burst_ : kCalmPerBurst * burst_, generator_);
    }
    return now_;
  }

 private:
  const bool bursty_;
  // Means.
  const uint64_t gap_;
  const uint64_t burst_;
  std::mt19937_64 generator_;
  bool in_burst_ = false;
  uint64_t now_ = 0;
  uint64_t phase_end_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<int64_t>> DrawArrivals(const ArrivalSpec& spec,
                                                  size_t count) {
  ArrivalDraw draw(spec);
  std::vector<int64_t> arrivals;
  arrivals.reserve(count);
  while (arrivals.size() < count) {
    const uint64_t next = draw.Next();
    if (next > kMostArrivalPs) {
      return InvalidField(
          "--rate", absl::StrCat(spec.rate),
          absl::StrCat("a rate at which ", count, " requests arrive within 100 days"));
    }
    arrivals.push_back(static_cast<int64_t>(next / kPsPerNs));
  }
  return arrivals;
}

}  // namespace evenpack
