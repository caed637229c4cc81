#include "client/cli/online/follow_command.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "client/cli/online/step_report.h"
#include "evenpack/v1/job.pb.h"
#include "evenpack/v1/packing_service.pb.h"
#include "evenpack/v1/step.pb.h"
#include "server/runtime/unique_name.h"

namespace evenpack {
namespace {

using client::RankStep;

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
constexpr FlagReader::Range kDpRanks = {0, 65535};
constexpr FlagReader::Range kCpRanks = {0, 1023};
constexpr uint32_t kMostCredits = 65536;
constexpr size_t kDurable = 0;
constexpr size_t kReceived = 1;
constexpr size_t kNone = 2;
constexpr std::array<std::string_view, 3> kAcks = {"durable", "received", "none"};

struct FollowFlags {
  client::ConsumerOptions consumer;
  // Index into kAcks.
  size_t ack = kReceived;
  uint64_t steps = kMost;
  bool json = false;
};

std::optional<uint32_t> ReadCpRank(const FlagValues& values, FlagReader& reader) {
  if (!IsGiven(values, "--cp-rank")) return std::nullopt;
  return reader.Integer32("--cp-rank", kCpRanks);
}

absl::StatusOr<FollowFlags> ReadFollowFlags(const FlagValues& values) {
  FlagReader reader(values);
  FollowFlags flags;
  client::ConsumerOptions& consumer = flags.consumer;
  consumer.job = reader.Text("--job", "the job's name");
  consumer.dp_rank = reader.Integer32("--dp-rank", kDpRanks);
  consumer.cp_rank = ReadCpRank(values, reader);
  consumer.subscriber =
      reader.Text("--subscriber", "a name", UniqueName("evenpackctl"));
  if (IsGiven(values, "--from-step")) {
    consumer.from_step = reader.Integer("--from-step", kAnyNumber);
  }
  flags.steps = reader.Integer("--steps", {1, kMost}, kMost);
  if (IsGiven(values, "--ack")) flags.ack = reader.OneOf("--ack", kAcks);
  flags.json = IsGiven(values, "--json");
  if (!reader.status().ok()) return reader.status();
  consumer.sends_durable = flags.ack == kDurable;
  // A credit that isn't given back was the only one for its step.
  if (flags.ack == kNone) consumer.credits = kMostCredits;
  // Steps that will not be written need not be fetched.
  consumer.credits =
      static_cast<uint32_t>(std::min<uint64_t>(consumer.credits, flags.steps));
  consumer.max_buffered_steps = consumer.credits;
  // What this program waits for is no trainer's wait.
  consumer.report_interval = std::chrono::milliseconds::zero();
  return flags;
}

absl::Status WriteSteps(const FollowFlags& flags, client::Consumer& consumer,
                        Output& out) {
  for (uint64_t written = 0; written < flags.steps; ++written) {
    const absl::StatusOr<std::optional<RankStep>> step = consumer.Next();
    if (!step.ok()) return step.status();
    if (!step->has_value()) break;
    if (!out.Write(flags.json ? StepJson(**step) : StepText(**step))) break;
    if (flags.ack != kDurable) continue;
    absl::Status status = consumer.AcknowledgeDurable((*step)->index());
    if (!status.ok()) return status;
  }
  return consumer.Close();
}

}  // namespace

absl::Status RunFollow(const FlagValues& values, const OnlineContext& context) {
  const absl::StatusOr<FollowFlags> flags = ReadFollowFlags(values);
  if (!flags.ok()) return flags.status();
  absl::StatusOr<client::Client> client =
      Connect(values, context, /*returns_credits=*/flags->ack != kNone);
  if (!client.ok()) return client.status();
  const absl::StatusOr<std::unique_ptr<client::Consumer>> consumer =
      client->OpenConsumer(flags->consumer);
  if (!consumer.ok()) return consumer.status();
  const SignalGuard guard(context.interrupt);
  const InterruptWatch watch(context.interrupt, [&consumer] { (*consumer)->Cancel(); });
  return WriteSteps(*flags, **consumer, context.out);
}

absl::Status RunStep(const FlagValues& values, const OnlineContext& context) {
  FlagReader reader(values);
  v1::GetStepRequest request;
  request.set_job(reader.Text("--job", "the job's name"));
  request.set_step(reader.Integer("--step", kAnyNumber));
  request.set_dp_rank(reader.Integer32("--dp-rank", kDpRanks));
  const std::optional<uint32_t> cp_rank = ReadCpRank(values, reader);
  if (cp_rank.has_value()) request.set_cp_rank(*cp_rank);
  if (!reader.status().ok()) return reader.status();
  absl::StatusOr<client::Client> client = Connect(values, context);
  if (!client.ok()) return client.status();
  // The step names streams by their numbers.
  const absl::StatusOr<v1::Job> job = client->GetJob(request.job());
  if (!job.ok()) return job.status();
  const absl::StatusOr<v1::Step> message = client->GetStep(request);
  if (!message.ok()) return message.status();
  const absl::StatusOr<RankStep> step =
      RankStep::FromMessage(*message, std::make_shared<const v1::JobSpec>(job->spec()));
  if (!step.ok()) return step.status();
  context.out.Write(IsGiven(values, "--json") ? StepJson(*step) : StepText(*step));
  return absl::OkStatus();
}

}  // namespace evenpack
