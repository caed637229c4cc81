#include "server/core/engine/job_spec.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "server/core/document/document.h"
#include "server/core/document/invalid_field.h"
#include "server/core/outlier/queue_thresholds.h"

namespace evenpack {
namespace {

absl::Status CheckRange(absl::string_view field, uint64_t value, uint64_t least,
                        uint64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return InvalidField(field, value, absl::StrCat(least, " to ", most));
}

absl::Status ValidateStreams(const JobSpec& spec) {
  if (absl::Status status = CheckRange("streams", spec.streams.size(), 1, 1024);
      !status.ok()) {
    return status;
  }
  std::set<std::string> names;
  for (size_t i = 0; i < spec.streams.size(); ++i) {
    const StreamSpec& stream = spec.streams[i];
    if (stream.name.empty() || stream.name.size() > 256) {
      return InvalidField(absl::StrCat("streams[", i, "].name"),
                          absl::StrCat("'", stream.name, "'"), "1 to 256 bytes");
    }
    if (!names.insert(stream.name).second) {
      return InvalidField(absl::StrCat("streams[", i, "].name"),
                          absl::StrCat("'", stream.name, "'"),
                          "a name that no other stream of the job has");
    }
    if (absl::Status status = CheckRange(absl::StrCat("streams[", i, "].weight"),
                                         stream.weight, 1, 1000000);
        !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateShape(const JobSpec& spec) {
  for (const absl::Status& status :
       {CheckRange("micro_batches", spec.micro_batches, 1, 65536),
        CheckRange("data_parallel", spec.data_parallel, 1, 65536),
        CheckRange("context_parallel", spec.context_parallel, 1, 1024),
        CheckRange("window", spec.window, 1, kMaxDocumentLength),
        CheckRange("max_length", spec.max_length, spec.window, kMaxDocumentLength)}) {
    if (!status.ok()) return status;
  }
  if (spec.micro_batches % spec.data_parallel != 0) {
    return InvalidField(
        "micro_batches", spec.micro_batches,
        absl::StrCat("a multiple of data_parallel, which is ", spec.data_parallel));
  }
  if (spec.workload.max_tokens() < spec.max_length) {
    return InvalidField(
        "workload.max_tokens", spec.workload.max_tokens(),
        absl::StrCat("at least max_length, which is ", spec.max_length));
  }
  if (!spec.workload.StepFits(spec.micro_batches)) {
    return InvalidField(
        "workload", absl::StrCat("a table for ", spec.workload.max_tokens(), " tokens"),
        absl::StrCat("one by which a step of ", spec.micro_batches,
                     " micro-batches stays within 2^62 ns"));
  }
  return absl::OkStatus();
}

absl::Status ValidatePolicy(const JobSpec& spec) {
  if (spec.policy.kind > PolicyKind::kWlb) {
    return InvalidField("policy.kind", static_cast<uint32_t>(spec.policy.kind),
                        "original, fixed_greedy or wlb");
  }
  if (absl::Status status =
          CheckRange("policy.version", spec.policy.version, 1, kPolicyVersion);
      !status.ok()) {
    return status;
  }
  if (absl::Status status =
          CheckRange("policy.window_batches", spec.policy.window_batches, 1, 1024);
      !status.ok()) {
    return status;
  }
  if (absl::Status status = ValidateQueueThresholds(spec.policy.queue_thresholds);
      !status.ok()) {
    return status;
  }
  if (spec.max_delay.has_value() && *spec.max_delay < BatchesPerWindow(spec) - 1) {
    return InvalidField("max_delay", *spec.max_delay,
                        absl::StrCat("at least ", BatchesPerWindow(spec) - 1,
                                     ", the delay within a window of ",
                                     BatchesPerWindow(spec), " global batches"));
  }
  if (!(spec.backlog_limit >= 0 && spec.backlog_limit <= 1e6)) {
    return InvalidField("backlog_limit", spec.backlog_limit, "0 to 1000000");
  }
  return absl::OkStatus();
}

absl::Status ValidateSharding(const JobSpec& spec) {
  if (spec.sharding > Sharding::kAdaptive) {
    return InvalidField("sharding", static_cast<uint32_t>(spec.sharding),
                        "per_sequence, per_document or adaptive");
  }
  if (spec.sharding == Sharding::kAdaptive && spec.kernel_latency.empty()) {
    return InvalidField("kernel_latency", "an empty table",
                        "a table of kernel latencies, which adaptive sharding needs");
  }
  return absl::OkStatus();
}

}  // namespace

uint64_t GlobalBatchTokens(const JobSpec& spec) {
  return uint64_t{spec.micro_batches} * spec.window;
}

uint32_t BatchesPerWindow(const JobSpec& spec) {
  return spec.policy.kind == PolicyKind::kFixedGreedy ? spec.policy.window_batches : 1;
}

size_t QueueCount(const PolicySpec& policy) {
  return policy.kind == PolicyKind::kWlb ? policy.queue_thresholds.size() : 0;
}

absl::Status Validate(const JobSpec& spec) {
  for (const auto check :
       {ValidateStreams, ValidateShape, ValidatePolicy, ValidateSharding}) {
    if (absl::Status status = check(spec); !status.ok()) return status;
  }
  if (absl::Status status =
          CheckRange("retain_checkpoints", spec.retain_checkpoints, 1, 1000);
      !status.ok()) {
    return status;
  }
  return CheckRange("max_steps_ahead", spec.max_steps_ahead, 1, uint64_t{1} << 32);
}

}  // namespace evenpack
