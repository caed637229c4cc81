#include "server/service/policy_conversion.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

constexpr double kMillion = 1e6;
constexpr double kLeastSpread = 1e-6;
constexpr double kMostError = 63.0 / 64;

absl::Status CheckShare(absl::string_view field, double value, double least,
                        double most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return InvalidField(absl::StrCat("spec.policy.balanced.", field), value,
                      absl::StrCat(least, " to ", most));
}

void FillBalanced(v1::BalancedPolicy& balanced) {
  const BalancedSpec defaults;
  if (balanced.release() == v1::RELEASE_UNSPECIFIED) {
    balanced.set_release(v1::RELEASE_BY_WORKLOAD);
  }
  if (!balanced.has_finish()) balanced.set_finish(defaults.finish);
  if (!balanced.has_place()) balanced.set_place(defaults.place);
  if (balanced.virtual_stages() == 0) balanced.set_virtual_stages(1);
  if (!balanced.has_delay_price()) {
    balanced.set_delay_price(defaults.delay_price_ppm / kMillion);
  }
  if (!balanced.has_attention_error()) {
    balanced.set_attention_error(defaults.attention_error_64ths / 64.0);
  }
}

absl::StatusOr<BalancedSpec> BalancedFromProto(const v1::BalancedPolicy& from) {
  BalancedSpec balanced;
  switch (from.release()) {
    case v1::RELEASE_BY_WORKLOAD:
      balanced.release = ReleaseMode::kByWorkload;
      break;
    case v1::RELEASE_BY_CLASS:
      balanced.release = ReleaseMode::kByClass;
      break;
    case v1::RELEASE_BY_LEVEL:
      balanced.release = ReleaseMode::kByLevel;
      break;
    default:
      return InvalidField("spec.policy.balanced.release", int{from.release()},
                          "RELEASE_BY_WORKLOAD, RELEASE_BY_CLASS or RELEASE_BY_LEVEL");
  }
  absl::Status status = CheckShare("delay_price", from.delay_price(), 0, 1);
  status.Update(CheckShare("attention_error", from.attention_error(), 0, kMostError));
  if (from.has_token_cv()) {
    status.Update(CheckShare("token_cv", from.token_cv(), kLeastSpread, 1));
  }
  if (from.has_long_share()) {
    status.Update(CheckShare("long_share", from.long_share(), 0, 1));
  }
  if (!status.ok()) return status;
  balanced.finish = from.finish();
  balanced.place = from.place();
  balanced.virtual_stages = from.virtual_stages();
  if (from.sync_micro_batches()) balanced.sync_domain = SyncDomain::kMicroBatch;
  balanced.max_in_flight_tokens = from.max_in_flight_tokens();
  balanced.delay_price_ppm =
      static_cast<uint32_t>(std::lround(from.delay_price() * kMillion));
  balanced.attention_error_64ths =
      static_cast<uint32_t>(std::lround(from.attention_error() * 64));
  if (from.has_token_cv()) {
    balanced.token_spread_ppm =
        static_cast<uint32_t>(std::lround(from.token_cv() * kMillion));
  }
  if (from.has_long_share()) {
    balanced.long_share_spread_ppm =
        static_cast<uint32_t>(std::lround(from.long_share() * kMillion));
  }
  return balanced;
}

// Of a later version of the API.
bool NamesALaterOne(const v1::Policy& policy) {
  return !v1::Policy::GetReflection()->GetUnknownFields(policy).empty();
}

}  // namespace

void FillPolicy(v1::Policy& policy) {
  if (policy.policy_case() == v1::Policy::POLICY_NOT_SET && !NamesALaterOne(policy)) {
    policy.mutable_balanced();
  }
  if (policy.has_fixed_greedy() && policy.fixed_greedy().window_batches() == 0) {
    policy.mutable_fixed_greedy()->set_window_batches(1);
  }
  if (policy.has_balanced()) FillBalanced(*policy.mutable_balanced());
}

absl::StatusOr<PolicySpec> FromProto(const v1::Policy& from) {
  PolicySpec policy;
  switch (from.policy_case()) {
    case v1::Policy::kOriginal:
      policy.kind = PolicyKind::kOriginal;
      policy.split_documents = from.original().split_documents();
      break;
    case v1::Policy::kFixedGreedy:
      policy.kind = PolicyKind::kFixedGreedy;
      policy.window_batches = from.fixed_greedy().window_batches();
      break;
    case v1::Policy::kBalanced: {
      policy.kind = PolicyKind::kBalanced;
      const absl::StatusOr<BalancedSpec> balanced = BalancedFromProto(from.balanced());
      if (!balanced.ok()) return balanced.status();
      policy.balanced = *balanced;
      break;
    }
    case v1::Policy::POLICY_NOT_SET:
      return InvalidField("policy", "one that this server doesn't know",
                          "original, fixed_greedy, wlb or balanced");
    case v1::Policy::kWlb:
      policy.kind = PolicyKind::kWlb;
      policy.queue_thresholds = {from.wlb().queue_thresholds().begin(),
                                 from.wlb().queue_thresholds().end()};
  }
  return policy;
}

}  // namespace evenpack
