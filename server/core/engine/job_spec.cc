#include "server/core/engine/job_spec.h"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "server/core/cost/length_curve.h"
#include "server/core/document/document.h"
#include "server/core/document/invalid_field.h"
#include "server/core/engine/job_layout.h"
#include "server/core/outlier/queue_thresholds.h"

namespace evenpack {
namespace {

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
        CheckRange("tensor_parallel", spec.tensor_parallel, 1, 1024),
        CheckRange("pipeline_parallel", spec.pipeline_parallel, 1, 1024),
        CheckRange("virtual_pipeline_group", spec.virtual_pipeline_group, 1, 65536),
        CheckRange("expert_parallel", spec.expert_parallel, 1, 65536),
        CheckRange("window", spec.window, 1, kMaxDocumentLength),
        CheckRange("max_length", spec.max_length, spec.window, kMaxDocumentLength)}) {
    if (!status.ok()) return status;
  }
  if (spec.micro_batches % spec.data_parallel != 0) {
    return InvalidField(
        "micro_batches", spec.micro_batches,
        absl::StrCat("a multiple of data_parallel, which is ", spec.data_parallel));
  }
  const uint32_t per_rank = spec.micro_batches / spec.data_parallel;
  if (per_rank % spec.virtual_pipeline_group != 0) {
    return InvalidField("virtual_pipeline_group", spec.virtual_pipeline_group,
                        absl::StrCat("a divisor of ", per_rank,
                                     ", the micro-batches of a data-parallel rank"));
  }
  return absl::OkStatus();
}

absl::Status ValidateWorkload(const JobSpec& spec) {
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

absl::Status ValidateBalanced(const JobSpec& spec) {
  constexpr uint32_t kWholeInPpm = 1000000;
  const BalancedSpec& balanced = spec.policy.balanced;
  if (balanced.release > ReleaseMode::kByLevel) {
    return InvalidField("policy.release", static_cast<uint32_t>(balanced.release),
                        "by_workload, by_class or by_level");
  }
  absl::Status status =
      CheckRange("policy.delay_price_ppm", balanced.delay_price_ppm, 0, kWholeInPpm);
  status.Update(CheckRange("policy.token_spread_ppm",
                           balanced.token_spread_ppm.value_or(kWholeInPpm), 1,
                           kWholeInPpm));
  status.Update(CheckRange("policy.long_share_spread_ppm",
                           balanced.long_share_spread_ppm.value_or(0), 0, kWholeInPpm));
  status.Update(CheckRange("policy.attention_error_64ths",
                           balanced.attention_error_64ths, 0, 63));
  status.Update(CheckRange("policy.virtual_stages", balanced.virtual_stages, 1, 1024));
  if (status.ok() && balanced.sync_domain > SyncDomain::kMicroBatch) {
    status =
        InvalidField("policy.sync_domain", static_cast<uint32_t>(balanced.sync_domain),
                     "step or micro_batch");
  }
  if (status.ok() && balanced.max_in_flight_tokens != 0 &&
      balanced.max_in_flight_tokens < spec.max_length) {
    status = InvalidField("policy.max_in_flight_tokens", balanced.max_in_flight_tokens,
                          absl::StrCat("0 (no bound) or at least ", spec.max_length,
                                       ", which is max_length"));
  }
  return status;
}

absl::Status ValidatePolicy(const JobSpec& spec) {
  if (spec.policy.kind > PolicyKind::kBalanced) {
    return InvalidField("policy.kind", static_cast<uint32_t>(spec.policy.kind),
                        "original, fixed_greedy, wlb or balanced");
  }
  if (absl::Status status =
          CheckRange("policy.version", spec.policy.version, 1, kPolicyVersion);
      !status.ok()) {
    return status;
  }
  // What one decision packs together.
  constexpr uint32_t kMostMicroBatches = 1 << 20;
  const uint32_t most = std::min(1024U, kMostMicroBatches / spec.micro_batches);
  if (absl::Status status =
          CheckRange("policy.window_batches", spec.policy.window_batches, 1, most);
      !status.ok()) {
    return status;
  }
  if (absl::Status status = ValidateQueueThresholds(spec.policy.queue_thresholds);
      !status.ok()) {
    return status;
  }
  if (absl::Status status = ValidateBalanced(spec); !status.ok()) {
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

absl::Status CheckBufferLimit(absl::string_view field, uint64_t value,
                              absl::string_view zero, uint64_t least) {
  if (value == 0 || value >= least) return absl::OkStatus();
  return InvalidField(
      field, value,
      absl::StrCat("0 (", zero, ") or at least ", least, ", what a step can need"));
}

absl::Status ValidateBuffers(const JobSpec& spec) {
  // A document has a token at least.
  const uint64_t need = WindowTokens(spec);
  absl::Status status =
      CheckBufferLimit("max_buffered_tokens", spec.max_buffered_tokens,
                       "four times what a step can need", need);
  status.Update(CheckBufferLimit("max_buffered_documents", spec.max_buffered_documents,
                                 "no bound", need));
  status.Update(CheckBufferLimit("max_buffered_bytes", spec.max_buffered_bytes,
                                 "no bound", need * kBufferedDocumentBytes));
  return status;
}

absl::Status ValidateRetention(const JobSpec& spec) {
  absl::Status status =
      CheckRange("retain_checkpoints", spec.retain_checkpoints, 1, 1000);
  status.Update(
      CheckRange("max_steps_ahead", spec.max_steps_ahead, 1, uint64_t{1} << 32));
  return status;
}

// Queues by class release documents without these bounds.
absl::Status CheckReleaseByClass(const BalancedSpec& balanced) {
  const auto check = [](absl::string_view field, std::optional<uint32_t> ppm) {
    if (!ppm.has_value()) return absl::OkStatus();
    return InvalidField(field, absl::StrCat(*ppm, " ppm"),
                        "none where outliers are released by class");
  };
  if (balanced.release != ReleaseMode::kByClass) return absl::OkStatus();
  absl::Status status = check("policy.token_spread_ppm", balanced.token_spread_ppm);
  status.Update(check("policy.long_share_spread_ppm", balanced.long_share_spread_ppm));
  return status;
}

// Without it nothing is placed or predicted of an interleaved pipeline.
absl::Status CheckPipelineGroup(const JobSpec& spec) {
  const uint32_t virtual_stages = spec.policy.balanced.virtual_stages;
  if (virtual_stages == 1) return absl::OkStatus();
  const uint32_t per_rank = spec.micro_batches / spec.data_parallel;
  const uint32_t least = std::min(spec.pipeline_parallel, per_rank);
  if (spec.virtual_pipeline_group >= least) return absl::OkStatus();
  return InvalidField(
      "virtual_pipeline_group", spec.virtual_pipeline_group,
      absl::StrCat("a divisor of the ", per_rank, " micro-batches of a data-parallel ",
                   "rank, at least ", least, " as policy.virtual_stages is ",
                   virtual_stages));
}

absl::Status ValidateDescription(const JobSpec& spec) {
  return CheckBytes("description", spec.description, 0, kMaxDescriptionBytes);
}

absl::Status CheckKnots(const JobSpec& spec) {
  const uint32_t apart = std::bit_floor(std::max(spec.window / kLeastKnots, 1U));
  const uint64_t most = uint64_t{apart} * LengthCurve::kMaxSegments;
  if (spec.max_length <= most) return absl::OkStatus();
  return InvalidField(
      "max_length", spec.max_length,
      absl::StrCat(spec.window, " to ", most, " with a window of ", spec.window,
                   ", since costs are known of lengths that lie "
                   "max_length / ",
                   LengthCurve::kMaxSegments, " apart"));
}

// Those of ASCII, and U+0080 to U+009F, which terminals obey as well.
bool HasControlCharacter(absl::string_view utf8) {
  unsigned char before = 0;
  return std::ranges::any_of(utf8, [&before](unsigned char byte) {
    const bool second = std::exchange(before, byte) == 0xc2 && byte < 0xa0;
    return second || absl::ascii_iscntrl(byte);
  });
}

}  // namespace

uint64_t GlobalBatchTokens(const JobSpec& spec) {
  return uint64_t{spec.micro_batches} * spec.window;
}

uint32_t BatchesPerWindow(const JobSpec& spec) {
  return spec.policy.kind == PolicyKind::kFixedGreedy ? spec.policy.window_batches : 1;
}

uint64_t WindowTokens(const JobSpec& spec) {
  return GlobalBatchTokens(spec) * BatchesPerWindow(spec);
}

bool IsVariableLength(PolicyKind kind) {
  return kind == PolicyKind::kWlb || kind == PolicyKind::kBalanced;
}

size_t QueueCount(const PolicySpec& policy) {
  return policy.kind == PolicyKind::kWlb ? policy.queue_thresholds.size() : 0;
}

absl::Status CheckGiven(const JobSpec& spec) {
  for (size_t i = 0; i < spec.streams.size(); ++i) {
    const std::string& name = spec.streams[i].name;
    if (HasControlCharacter(name)) {
      return InvalidField(absl::StrCat("streams[", i, "].name"),
                          absl::StrCat("'", absl::CHexEscape(name), "'"),
                          "text without control characters");
    }
  }
  if (absl::Status status = CheckKnots(spec); !status.ok()) return status;
  if (spec.policy.kind == PolicyKind::kBalanced) {
    absl::Status status = CheckPipelineGroup(spec);
    status.Update(CheckReleaseByClass(spec.policy.balanced));
    if (!status.ok()) return status;
  }
  return CheckRankMicroBatches(spec);
}

absl::Status CheckRankMicroBatches(const JobSpec& spec) {
  const uint32_t most = kMaxRankMicroBatches / spec.micro_batches;
  if (spec.context_parallel <= most) return absl::OkStatus();
  return InvalidField("context_parallel", spec.context_parallel,
                      absl::StrCat("1 to ", most, " with ", spec.micro_batches,
                                   " micro-batches a step"));
}

absl::Status CheckNotNewer(const JobSpec& spec) {
  if (spec.policy.version <= kPolicyVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("policy.version: ", spec.policy.version,
                   " is newer than this program; accepted: up to ", kPolicyVersion,
                   ", or start the newer program"));
}

absl::Status Validate(const JobSpec& spec) {
  for (const auto check :
       {ValidateStreams, ValidateShape, ValidateWorkload, ValidatePolicy,
        ValidateLayout, ValidateRetention, ValidateBuffers, ValidateDescription}) {
    if (absl::Status status = check(spec); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace evenpack
