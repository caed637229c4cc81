#include "server/core/pipeline/cluster_spec.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/core/document/invalid_field.h"
#include "server/core/pipeline/pipeline_schedule.h"

namespace evenpack {
namespace {

constexpr uint32_t kMaxExpertParallel = 65536;

// Written so that NaN fails.
absl::Status CheckRate(absl::string_view field, double value, double least,
                       double most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return InvalidField(field, value, absl::StrCat(least, " to ", most));
}

absl::Status CheckShares(const ClusterSpec& cluster) {
  if (!(cluster.matmul_fraction > 0 && cluster.matmul_fraction <= 1)) {
    return InvalidField("matmul_fraction", cluster.matmul_fraction,
                        "above 0, at most 1");
  }
  if (!(cluster.context_overlap >= 0 && cluster.context_overlap <= 1)) {
    return InvalidField("context_overlap", cluster.context_overlap, "0 to 1");
  }
  return absl::OkStatus();
}

absl::Status CheckSyncDomain(SyncDomain domain) {
  if (domain == SyncDomain::kStep || domain == SyncDomain::kMicroBatch) {
    return absl::OkStatus();
  }
  return InvalidField("sync_domain", static_cast<int>(domain),
                      "0 (step) or 1 (micro_batch)");
}

absl::Status CheckParallelism(const ClusterSpec& cluster) {
  absl::Status status =
      CheckRange("tensor_parallel", cluster.tensor_parallel, 1, kMaxParallel);
  status.Update(
      CheckRange("context_parallel", cluster.context_parallel, 1, kMaxParallel));
  status.Update(
      CheckRange("pipeline_parallel", cluster.pipeline_parallel, 1, kMaxParallel));
  status.Update(CheckRange("data_parallel", cluster.data_parallel, 1, kMaxParallel));
  status.Update(
      CheckRange("expert_parallel", cluster.expert_parallel, 1, kMaxExpertParallel));
  status.Update(CheckRange("virtual_stages", cluster.virtual_stages, 1, kMaxParallel));
  return status;
}

absl::Status CheckAgainstModel(const ClusterSpec& cluster, const ModelSpec& model) {
  const uint32_t shared = cluster.context_parallel * cluster.data_parallel;
  if (shared % cluster.expert_parallel != 0) {
    return InvalidField("expert_parallel", cluster.expert_parallel,
                        absl::StrCat("a divisor of the ", shared,
                                     " ranks of context and data parallelism"));
  }
  const uint32_t experts = std::max(model.experts, 1U);
  if (cluster.expert_parallel > experts) {
    return InvalidField(
        "expert_parallel", cluster.expert_parallel,
        absl::StrCat("at most ", experts, ", as model.experts is ", model.experts));
  }
  if (cluster.tensor_parallel > model.query_heads) {
    return InvalidField(
        "tensor_parallel", cluster.tensor_parallel,
        absl::StrCat("at most the model's ", model.query_heads, " query heads"));
  }
  const uint32_t chunks = cluster.pipeline_parallel * cluster.virtual_stages;
  if (chunks > model.layers) {
    return InvalidField("pipeline_parallel", cluster.pipeline_parallel,
                        absl::StrCat("one that times the ", cluster.virtual_stages,
                                     " virtual stages is at most the model's ",
                                     model.layers, " layers"));
  }
  return absl::OkStatus();
}

}  // namespace

uint64_t GpuCount(const ClusterSpec& cluster) {
  return uint64_t{cluster.tensor_parallel} * cluster.context_parallel *
         cluster.pipeline_parallel * cluster.data_parallel;
}

absl::Status Validate(const ClusterSpec& cluster, const ModelSpec& model) {
  absl::Status status = Validate(model);
  status.Update(CheckParallelism(cluster));
  status.Update(CheckSyncDomain(cluster.sync_domain));
  status.Update(Validate(cluster.network));
  status.Update(CheckRate("peak_flops", cluster.peak_flops, 1e9, 1e18));
  status.Update(
      CheckRate("memory_bytes_per_second", cluster.memory_bytes_per_second, 1, 1e15));
  status.Update(CheckShares(cluster));
  if (!status.ok()) return status;
  return CheckAgainstModel(cluster, model);
}

}  // namespace evenpack
