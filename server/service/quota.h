// How much of the server one peer (peer.h) or one job may have at a time.
//
//   QuotaPlace place;
//   absl::Status status = quotas.Take(Quota::kPeerCalls, peer, place);
//   if (!status.ok()) return status;
//   ...  // given back with the place
#ifndef EVENPACK_SERVER_SERVICE_QUOTA_H_
#define EVENPACK_SERVER_SERVICE_QUOTA_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/runtime/mutex.h"

namespace evenpack {

enum class Quota : uint8_t {
  kPeerCalls,  // unary calls under way
  kPeerIngestStreams,
  kPeerStepStreams,
  kPeerGroupStreams,
  kPeerJobs,  // JobMakers counts them
  kJobIngestStreams,
  kJobStepStreams,
  kJobGroupStreams,
};
inline constexpr size_t kQuotas = 8;

// Of a quota its flag of evenpack-server without the dashes, by which metrics and
// errors know it, and whose it is.
struct QuotaName {
  absl::string_view flag;
  absl::string_view holder;
  // Of what there are as many as may be.
  absl::string_view what;
};
QuotaName NameOf(Quota quota);
inline constexpr std::array<Quota, kQuotas> kAllQuotas = {
    Quota::kPeerCalls,        Quota::kPeerIngestStreams, Quota::kPeerStepStreams,
    Quota::kPeerGroupStreams, Quota::kPeerJobs,          Quota::kJobIngestStreams,
    Quota::kJobStepStreams,   Quota::kJobGroupStreams};

// By Quota; 0: as many as the server has room for.
using QuotaLimits = std::array<uint64_t, kQuotas>;
// docs/limits.md says why these.
inline constexpr QuotaLimits kDefaultQuotaLimits = {4096, 3072, 12'288, 12'288,
                                                    0,    3072, 12'288, 12'288};

// RESOURCE_EXHAUSTED, QUOTA_EXCEEDED: the holder has as many as it may, of `what` where
// that isn't what the quota's name says.
absl::Status QuotaExceeded(Quota quota, uint64_t limit, const std::string& holder,
                           absl::string_view what = {});

class Quotas;

// One of what a quota counts; given back when it ends, or before. For one thread at a
// time.
class QuotaPlace {
 public:
  QuotaPlace() = default;
  ~QuotaPlace() { GiveBack(); }
  QuotaPlace(const QuotaPlace&) = delete;
  QuotaPlace& operator=(const QuotaPlace&) = delete;

  void GiveBack();

 private:
  friend class Quotas;
  void Hold(Quotas& quotas, Quota quota, const std::string& holder);

  Quotas* quotas_ = nullptr;
  Quota quota_ = Quota::kPeerCalls;
  std::string holder_;
};

// Thread-safe. Remembers those alone that have something, and outlives its places.
class Quotas {
 public:
  explicit Quotas(const QuotaLimits& limits) : limits_(limits) {}

  // Into `place`, which gives back what it had. QuotaExceeded, which counts.
  absl::Status Take(Quota quota, const std::string& holder, QuotaPlace& place);
  // Counts a refusal that was found elsewhere.
  void CountRefusal(Quota quota);

  uint64_t limit(Quota quota) const { return limits_[static_cast<size_t>(quota)]; }
  // How often each refused.
  std::array<uint64_t, kQuotas> refusals() const;
  // What is remembered: pairs of a quota and a holder.
  size_t size() const;

 private:
  friend class QuotaPlace;
  using Key = std::pair<Quota, std::string>;

  void GiveBack(const Key& key);

  const QuotaLimits limits_;
  mutable Mutex mutex_;
  std::map<Key, uint64_t> taken_ EVENPACK_GUARDED_BY(mutex_);
  std::array<uint64_t, kQuotas> refusals_ EVENPACK_GUARDED_BY(mutex_) = {};
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_QUOTA_H_
