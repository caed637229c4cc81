#include "gpu_worker/c_api/open_options.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "gpu_worker/c_api/sized_struct.h"
#include "server/core/digest/digest_bytes.h"
#include "server/core/document/invalid_field.h"
#include "server/runtime/unique_name.h"

namespace evenpack::worker {
namespace {

// What others' subscriptions of the rank don't take over, nor this one theirs.
constexpr char kSubscriber[] = "evenpack-worker";
constexpr uint32_t kMostThreads = 1024;
constexpr int32_t kMostDevices = 64;
// Of callers that were compiled before the struct has grown.
constexpr size_t kFirstOptionsBytes =
    offsetof(EvenpackWorkerOptions, server_timeout_ms);

std::string TextOf(const char* given) { return given == nullptr ? "" : given; }

absl::Status SetSteps(const EvenpackWorkerOptions& given, RankWorkerOptions& options) {
  if (given.job == nullptr) return InvalidField("job", "NULL", "the job's name");
  client::ConsumerOptions& steps = options.steps;
  steps.job = given.job;
  steps.dp_rank = given.dp_rank;
  steps.cp_rank = given.cp_rank;
  steps.subscriber = kSubscriber;
  steps.sends_durable = given.sends_durable != 0;
  if (given.from_step >= 0) steps.from_step = static_cast<uint64_t>(given.from_step);
  if (given.last_digest != nullptr) {
    steps.last_digest = DigestFromBytes(std::string_view(
        reinterpret_cast<const char*>(given.last_digest), kDigestBytes));
  }
  options.member = given.member == nullptr ? UniqueName("process") : given.member;
  return absl::OkStatus();
}

absl::StatusOr<ElementType> TypeOf(const EvenpackWorkerOptions& given) {
  switch (given.element_type) {
    case EVENPACK_FLOAT32:
      if (given.device < 0) return ElementType::kFloat32;
      return InvalidField("element_type", "EVENPACK_FLOAT32",
                          "EVENPACK_BFLOAT16 or EVENPACK_FLOAT16 on a CUDA device");
    case EVENPACK_BFLOAT16:
      return ElementType::kBfloat16;
    case EVENPACK_FLOAT16:
      return ElementType::kFloat16;
    default:
      return InvalidField("element_type", given.element_type,
                          "EVENPACK_FLOAT32 (1), EVENPACK_BFLOAT16 (2) or "
                          "EVENPACK_FLOAT16 (3)");
  }
}

absl::Status SetAttention(const EvenpackWorkerOptions& given,
                          RankWorkerOptions& options) {
  const absl::StatusOr<ElementType> type = TypeOf(given);
  if (!type.ok()) return type.status();
  options.shape = {*type,           given.query_heads, given.kv_heads,
                   given.head_size, given.scale,       given.sliding_window};
  if (absl::Status status = CheckRange("head_groups", given.head_groups, 0, kMaxHeads);
      !status.ok()) {
    return status;
  }
  if (given.head_groups > 0) options.executor.head_groups = given.head_groups;
  return Check(options.shape);
}

absl::Status SetForm(const EvenpackWorkerOptions& given, FormOptions& form) {
  absl::Status status = CheckRange("device", given.device, -1, kMostDevices - 1);
  if (status.ok()) status = CheckRange("threads", given.threads, 0, kMostThreads);
  if (!status.ok()) return status;
  if (given.device >= 0) {
    form.cuda.emplace().rank.device = given.device;
    if (given.memory_bytes > 0) form.cuda->rank.budget = given.memory_bytes;
  }
  if (given.threads > 0) form.threads = given.threads;
  if (given.host != nullptr) form.group.host = given.host;
  if (given.connect_timeout_ms > 0) {
    form.group.connect_timeout = std::chrono::milliseconds(given.connect_timeout_ms);
    if (form.cuda) form.cuda->group.connect_timeout = form.group.connect_timeout;
  }
  if (given.exchange_timeout_ms > 0) {
    form.group.exchange_timeout = std::chrono::milliseconds(given.exchange_timeout_ms);
    if (form.cuda) form.cuda->group.exchange_timeout = form.group.exchange_timeout;
  }
  return absl::OkStatus();
}

absl::Status SetClient(const EvenpackWorkerOptions& given,
                       client::ClientOptions& options) {
  if (given.address == nullptr) return InvalidField("address", "NULL", "HOST:PORT");
  options.address = given.address;
  options.security.tls = given.tls != 0;
  options.security.ca_file = TextOf(given.ca_file);
  options.security.certificate_file = TextOf(given.certificate_file);
  options.security.key_file = TextOf(given.key_file);
  options.security.server_name = TextOf(given.server_name);
  options.security.token_file = TextOf(given.token_file);
  if (given.server_timeout_ms > 0) {
    options.backoff.total = std::chrono::milliseconds(given.server_timeout_ms);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<OpenOptions> ReadOptions(const EvenpackWorkerOptions* options) {
  absl::Status status = CheckInput("options", options, kFirstOptionsBytes);
  if (!status.ok()) return status;
  const EvenpackWorkerOptions given = WholeOf(*options);
  if (given.reserved != 0) return InvalidField("reserved", given.reserved, "0");
  OpenOptions read;
  status = SetClient(given, read.client);
  if (status.ok()) status = SetSteps(given, read.worker);
  if (status.ok()) status = SetAttention(given, read.worker);
  if (status.ok()) status = SetForm(given, read.form);
  if (!status.ok()) return status;
  if (given.patience_ms > 0) {
    read.worker.patience = std::chrono::milliseconds(given.patience_ms);
  }
  return read;
}

absl::StatusOr<std::unique_ptr<RankForm>> OpenForm(const FormOptions& options) {
  if (options.cuda.has_value()) return OnCuda(*options.cuda);
  return OnProcessor(options.threads, options.group);
}

}  // namespace evenpack::worker
