#include "server/service/cost_profile_conversion.h"

#include <cstdint>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "evenpack/v1/cost_profile.pb.h"
#include "server/core/document/invalid_field.h"
#include "server/runtime/error_reason.h"
#include "server/runtime/status_detail.h"
#include "server/service/field_path.h"

namespace evenpack {
namespace {

constexpr size_t kMostText = 1024;
constexpr uint32_t kMostHeads = 1024;
constexpr int kMostCollectives = 64;
constexpr int kMostSizes = 64;
constexpr int64_t kMostSeconds = int64_t{1} << 40;
constexpr int64_t kMostLatencyNs = int64_t{1} << 50;

absl::Status CheckHeads(const v1::AttentionHeads& heads) {
  absl::Status status =
      CheckRange("heads.query_heads", heads.query_heads(), 1, kMostHeads);
  status.Update(CheckRange("heads.kv_heads", heads.kv_heads(), 1, heads.query_heads()));
  status.Update(CheckRange("heads.head_size", heads.head_size(), 1, kMostHeads));
  if (status.ok() && heads.query_heads() % heads.kv_heads() != 0) {
    return InvalidField(
        "heads.kv_heads", heads.kv_heads(),
        absl::StrCat("a divisor of query_heads, ", heads.query_heads()));
  }
  return status;
}

absl::Status CheckSizes(const v1::CollectiveLatency& collective) {
  if (collective.bytes_size() < 1 || collective.bytes_size() > kMostSizes) {
    return InvalidField("bytes", absl::StrCat(collective.bytes_size(), " values"),
                        absl::StrCat("1 to ", kMostSizes, " values"));
  }
  if (collective.latency_ns_size() != collective.bytes_size()) {
    return InvalidField(
        "latency_ns", absl::StrCat(collective.latency_ns_size(), " values"),
        absl::StrCat(collective.bytes_size(), " values, as many as bytes"));
  }
  uint64_t before = 0;
  for (int i = 0; i < collective.bytes_size(); ++i) {
    if (collective.bytes(i) <= before) {
      return InvalidField(absl::StrCat("bytes[", i, "]"), collective.bytes(i),
                          absl::StrCat("more than ", before));
    }
    before = collective.bytes(i);
    absl::Status status = CheckRange(absl::StrCat("latency_ns[", i, "]"),
                                     collective.latency_ns(i), 0, kMostLatencyNs);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status CheckCollective(const v1::CollectiveLatency& collective) {
  if (collective.kind() != v1::COLLECTIVE_KIND_EXCHANGE) {
    return InvalidField("kind", collective.kind(), "COLLECTIVE_KIND_EXCHANGE");
  }
  absl::Status status = CheckRange("ranks", collective.ranks(), 2, 1024);
  return status.ok() ? CheckSizes(collective) : status;
}

absl::Status CheckCollectives(const v1::CostProfile& profile) {
  if (profile.collectives_size() > kMostCollectives) {
    return InvalidField("collectives",
                        absl::StrCat(profile.collectives_size(), " entries"),
                        absl::StrCat("at most ", kMostCollectives));
  }
  std::set<std::pair<int, uint32_t>> seen;
  for (int i = 0; i < profile.collectives_size(); ++i) {
    const v1::CollectiveLatency& collective = profile.collectives(i);
    const std::string field = absl::StrCat("collectives[", i, "]");
    absl::Status status = CheckCollective(collective);
    if (!status.ok()) return Under(field, status);
    if (!seen.emplace(collective.kind(), collective.ranks()).second) {
      return InvalidField(absl::StrCat(field, ".ranks"), collective.ranks(),
                          "each kind and number of ranks once");
    }
  }
  return absl::OkStatus();
}

std::string HeadsText(uint32_t query_heads, uint32_t kv_heads, uint32_t head_size) {
  return absl::StrCat(query_heads, ":", kv_heads, " heads of ", head_size);
}

uint32_t PerRank(uint32_t heads, uint32_t ranks) {
  return heads / ranks + (heads % ranks != 0 ? 1 : 0);
}

// A table of other heads would be wrong by their number, and nobody would see it.
absl::Status CheckMeasuredFor(const v1::Model& from, const CostShape& shape,
                              const v1::CostProfile& profile) {
  const absl::StatusOr<ModelSpec> model = ReadModel(from);
  // Refused by those who resolve the cost, in their words.
  if (!model.ok() || !Validate(*model).ok()) return absl::OkStatus();
  const std::string wanted =
      HeadsText(PerRank(model->query_heads, shape.tensor_parallel),
                PerRank(model->kv_heads, shape.tensor_parallel), model->head_size);
  const v1::AttentionHeads& heads = profile.heads();
  const std::string measured =
      HeadsText(heads.query_heads(), heads.kv_heads(), heads.head_size());
  if (measured == wanted) return absl::OkStatus();
  return InvalidField(
      "cost.profile", absl::StrCat("'", profile.name(), "', of ", measured, ","),
      absl::StrCat("a profile of ", wanted, ", the model's over tensor parallelism"));
}

absl::Status NoSuchProfile(const std::string& name) {
  return WithDetail(
      absl::NotFoundError(absl::StrCat(
          "spec.cost.profile: '", name,
          "' is not known; accepted: the name of a cost profile of this server")),
      {kProfileNotFound, {{"profile", name}}});
}

}  // namespace

absl::Status CheckProfile(const v1::CostProfile& profile) {
  absl::Status status = CheckBytes("hardware", profile.hardware(), 0, kMostText);
  status.Update(CheckBytes("kernel", profile.kernel(), 0, kMostText));
  status.Update(CheckHeads(profile.heads()));
  status.Update(CheckRange("measured_unix_seconds", profile.measured_unix_seconds(), 0,
                           kMostSeconds));
  if (status.ok() && (profile.element_type() == v1::ELEMENT_TYPE_UNSPECIFIED ||
                      !v1::ElementType_IsValid(profile.element_type()))) {
    status = InvalidField("element_type", profile.element_type(),
                          "the values of evenpack.v1.ElementType but the first");
  }
  if (status.ok()) {
    status = Under("forward", ReadKernelLatency(profile.forward()).status());
  }
  if (status.ok() && profile.has_backward()) {
    status = Under("backward", ReadKernelLatency(profile.backward()).status());
  }
  return status.ok() ? CheckCollectives(profile) : status;
}

absl::Status ResolveProfile(const ProfileFinder& find, const CostShape& shape,
                            v1::Cost& cost) {
  if (cost.profile().empty()) return absl::OkStatus();
  if (cost.has_kernel_latency()) {
    return InvalidField(
        "cost.profile",
        absl::StrCat("'", cost.profile(), "', together with cost.kernel_latency,"),
        "one of the two");
  }
  if (!find) return NoSuchProfile(cost.profile());
  const absl::StatusOr<std::string> bytes = find(cost.profile());
  if (absl::IsNotFound(bytes.status())) return NoSuchProfile(cost.profile());
  if (!bytes.ok()) return bytes.status();
  v1::CostProfile profile;
  // It was checked before it was kept.
  profile.ParseFromString(*bytes);
  if (cost.has_profiled()) {
    absl::Status status =
        CheckMeasuredFor(cost.profiled().linear().model(), shape, profile);
    if (!status.ok()) return status;
  }
  *cost.mutable_kernel_latency() = std::move(*profile.mutable_forward());
  return absl::OkStatus();
}

}  // namespace evenpack
