#include "server/service/quota.h"

#include "absl/strings/str_cat.h"
#include "server/runtime/status_detail.h"

namespace evenpack {
namespace {

constexpr std::array<QuotaName, kQuotas> kQuotaNames = {{
    {"max-peer-calls", "peer", "calls under way"},
    {"max-peer-ingest-streams", "peer", "open Ingest calls"},
    {"max-peer-step-streams", "peer", "open StreamSteps calls"},
    {"max-peer-group-streams", "peer", "open JoinGroup calls"},
    {"max-peer-jobs", "peer", "jobs that it made"},
    {"max-job-ingest-streams", "job", "open Ingest calls"},
    {"max-job-step-streams", "job", "open StreamSteps calls"},
    {"max-job-group-streams", "job", "open JoinGroup calls"},
}};

size_t NumberOf(Quota quota) { return static_cast<size_t>(quota); }

}  // namespace

QuotaName NameOf(Quota quota) { return kQuotaNames[NumberOf(quota)]; }

absl::Status QuotaExceeded(Quota quota, uint64_t limit, const std::string& holder,
                           absl::string_view what) {
  const QuotaName name = NameOf(quota);
  return WithDetail(
      absl::ResourceExhaustedError(
          absl::StrCat(name.flag, ": ", name.holder, " ", holder, " has ", limit, " ",
                       what.empty() ? name.what : what, "; accepted: at most so many")),
      {"QUOTA_EXCEEDED",
       {{"quota", std::string(name.flag)},
        {"limit", absl::StrCat(limit)},
        {std::string(name.holder), holder}}});
}

void QuotaPlace::Hold(Quotas& quotas, Quota quota, const std::string& holder) {
  quotas_ = &quotas;
  quota_ = quota;
  holder_ = holder;
}

void QuotaPlace::GiveBack() {
  if (quotas_ == nullptr) return;
  std::exchange(quotas_, nullptr)->GiveBack({quota_, std::move(holder_)});
}

absl::Status Quotas::Take(Quota quota, const std::string& holder, QuotaPlace& place) {
  const uint64_t most = limit(quota);
  place.GiveBack();
  if (most == 0) return absl::OkStatus();
  {
    MutexLock lock(mutex_);
    uint64_t& taken = taken_[{quota, holder}];
    if (taken < most) {
      ++taken;
      place.Hold(*this, quota, holder);
      return absl::OkStatus();
    }
    ++refusals_[NumberOf(quota)];
  }
  return QuotaExceeded(quota, most, holder);
}

void Quotas::CountRefusal(Quota quota) {
  MutexLock lock(mutex_);
  ++refusals_[NumberOf(quota)];
}

std::array<uint64_t, kQuotas> Quotas::refusals() const {
  MutexLock lock(mutex_);
  return refusals_;
}

size_t Quotas::size() const {
  MutexLock lock(mutex_);
  return taken_.size();
}

void Quotas::GiveBack(const Key& key) {
  MutexLock lock(mutex_);
  const auto held = taken_.find(key);
  if (--held->second == 0) taken_.erase(held);
}

}  // namespace evenpack
