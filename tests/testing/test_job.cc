#include "tests/testing/test_job.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <variant>

#include "server/core/engine/apply.h"
#include "server/core/engine/decide.h"
#include "server/core/engine/plan_micro_batch.h"
#include "server/core/sharding/rank_load.h"
#include "server/core/sharding/validate_plan.h"
#include "tests/testing/test_documents.h"

namespace evenpack::testing {

LengthSketch SketchOf(const std::vector<uint32_t>& lengths) {
  LengthSketch sketch;
  for (const uint32_t length : lengths) sketch.Add(length);
  return sketch;
}

JobSpec MakeSpec(PolicyKind policy, uint32_t micro_batches, uint32_t window) {
  JobSpec spec;
  spec.streams = {{.name = "a"}};
  spec.micro_batches = micro_batches;
  spec.window = window;
  spec.max_length = window + window / 2;
  spec.policy.kind = policy;
  spec.max_steps_ahead = 1'000'000;
  ResolveCosts(spec);
  return spec;
}

JobSpec QueueSpec() {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 4, 1000);
  spec.policy.queue_thresholds = {375, 750};
  return spec;
}

void ResolveCosts(JobSpec& spec) {
  spec.workload = QuadraticWorkload(47000, spec.max_length, spec.micro_batches);
}

TestJob::TestJob(JobSpec spec, uint64_t lineage) {
  const absl::Status created = Do(CreateJob{std::move(spec), lineage});
  EXPECT_TRUE(created.ok()) << created;
}

absl::Status TestJob::Do(const Command& command) {
  absl::StatusOr<Event> event = Decide(state_, command);
  if (!event.ok()) return event.status();
  Apply(*event, state_);
  Remember(*event);
  journal_.push_back(*std::move(event));
  return absl::OkStatus();
}

void TestJob::Remember(const Event& event) {
  if (std::holds_alternative<JobCreated>(event) ||
      std::holds_alternative<JobUpdated>(event) ||
      std::holds_alternative<JobRestored>(event)) {
    spec_ = std::make_shared<JobSpec>(state_.spec);
    const uint64_t next = state_.position.next_step;
    while (!emitted_.empty() && emitted_.back().step.index >= next) emitted_.pop_back();
  }
  if (const auto* decided = std::get_if<StepDecided>(&event); decided != nullptr) {
    emitted_.push_back({decided->step, state_.position.batches_admitted - 1, spec_});
    most_waiting_tokens_ =
        std::max(most_waiting_tokens_, WaitingTokens(state_.waiting));
  }
}

absl::Status TestJob::Ingest(const std::vector<uint32_t>& lengths,
                             const std::string& stream) {
  for (size_t s = 0; s < state_.spec.streams.size(); ++s) {
    if (state_.spec.streams[s].name != stream) continue;
    evenpack::Ingest command;
    command.stream = stream;
    command.first_sequence = state_.streams[s].next_sequence;
    command.lengths = lengths;
    return Do(command);
  }
  return absl::NotFoundError(stream);
}

absl::Status TestJob::End(const std::string& stream) {
  for (size_t s = 0; s < state_.spec.streams.size(); ++s) {
    if (state_.spec.streams[s].name == stream) {
      return Do(EndOfStream{stream, state_.streams[s].next_sequence});
    }
  }
  return absl::NotFoundError(stream);
}

absl::Status TestJob::FormAll() {
  while (true) {
    absl::Status status = Do(FormStep{});
    if (!status.ok()) return status;
  }
}

void TestJob::Run(const std::vector<uint32_t>& lengths, uint64_t seed) {
  std::mt19937_64 random(seed);
  for (size_t at = 0; at < lengths.size();) {
    const size_t count = std::min<size_t>(Draw(random, 1, 3000), lengths.size() - at);
    const auto first = lengths.begin() + static_cast<ptrdiff_t>(at);
    const absl::Status ingested =
        Ingest({first, first + static_cast<ptrdiff_t>(count)});
    ASSERT_TRUE(ingested.ok()) << ingested;
    ASSERT_EQ(FormAll().code(), absl::StatusCode::kFailedPrecondition);
    at += count;
  }
  ASSERT_TRUE(End().ok());
  ASSERT_EQ(FormAll().code(), absl::StatusCode::kOutOfRange);
  ASSERT_TRUE(IsDrained(state_));
}

namespace {

// Where the pieces of each document begin and how long they are.
using Pieces = std::vector<std::vector<std::map<uint32_t, uint32_t>>>;

// The least count from `tokens` on that context parallelism can cut in equal slots and
// that tensor parallelism can share, all of it or (`by_rank`) each rank's part.
uint64_t LeastShared(uint64_t tokens, const JobSpec& spec, bool by_rank) {
  if (spec.layout.kind == Layout::kNative) return tokens;
  const uint64_t ranks = spec.context_parallel;
  const uint64_t tensor = spec.layout.sequence_parallel ? spec.tensor_parallel : 1;
  const uint64_t parts = by_rank ? ranks : 1;
  const bool slots = ranks > 1 || (!by_rank && tensor > 1);
  while ((slots && tokens % (2 * ranks) != 0) || tokens % parts != 0 ||
         tokens / parts % tensor != 0) {
    ++tokens;
  }
  return tokens;
}

uint64_t ExpectedPadding(const MicroBatch& micro_batch, const JobSpec& spec) {
  const LayoutSpec& layout = spec.layout;
  if (micro_batch.documents.empty()) return 0;
  uint64_t padded = 0;
  for (const Document& document : micro_batch.documents) {
    padded += spec.sharding == Sharding::kPerDocument
                  ? LeastShared(document.length, spec, /*by_rank=*/false)
                  : document.length;
  }
  padded = LeastShared(padded, spec, /*by_rank=*/true);
  for (const uint32_t rung : layout.shape_ladder) {
    if (rung >= padded) return rung - micro_batch.tokens;
  }
  while (layout.pad_tokens_to > 1 && padded % layout.pad_tokens_to != 0) ++padded;
  return padded - micro_batch.tokens;
}

void ExpectPlanned(const MicroBatch& micro_batch, const JobSpec& spec) {
  const absl::StatusOr<ShardPlan> plan = PlanMicroBatch(spec, micro_batch);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const absl::Status valid = Validate(*plan, LengthsOf(micro_batch.documents));
  ASSERT_TRUE(valid.ok()) << valid;
  ASSERT_EQ(plan->sharding, micro_batch.sharding);
  ASSERT_EQ(plan->padded_tokens, micro_batch.tokens + micro_batch.padding);
  if (spec.layout.kind == Layout::kNative) return;
  for (const RankLoad& load : RankLoads(*plan)) {
    ASSERT_EQ((load.tokens + load.padding) * spec.context_parallel,
              plan->padded_tokens);
  }
}

void Collect(const TestJob::Emitted& emitted, Pieces& pieces) {
  const JobSpec& spec = *emitted.spec;
  ASSERT_EQ(emitted.step.micro_batches.size(), spec.micro_batches);
  for (const MicroBatch& micro_batch : emitted.step.micro_batches) {
    uint64_t tokens = 0;
    for (const Document& document : micro_batch.documents) {
      tokens += document.length;
      ASSERT_TRUE(pieces.at(document.stream)
                      .at(document.sequence)
                      .emplace(document.offset, document.length)
                      .second)
          << "twice: " << document.sequence << " of stream " << document.stream;
    }
    ASSERT_EQ(micro_batch.tokens, tokens);
    ASSERT_EQ(micro_batch.padding, ExpectedPadding(micro_batch, spec));
    ASSERT_LE(tokens + micro_batch.padding, spec.max_length)
        << "step " << emitted.step.index;
    if (spec.layout.max_documents != 0) {
      ASSERT_LE(micro_batch.documents.size(), spec.layout.max_documents);
    }
    ASSERT_NO_FATAL_FAILURE(ExpectPlanned(micro_batch, spec));
  }
}

}  // namespace

void ExpectExactlyOnce(const TestJob& job,
                       const std::vector<std::vector<uint32_t>>& lengths) {
  Pieces pieces;
  for (const std::vector<uint32_t>& stream : lengths)
    pieces.emplace_back(stream.size());
  for (const TestJob::Emitted& emitted : job.emitted()) {
    ASSERT_NO_FATAL_FAILURE(Collect(emitted, pieces));
  }
  for (size_t s = 0; s < lengths.size(); ++s) {
    for (size_t i = 0; i < lengths[s].size(); ++i) {
      if (IsIn(job.state().streams[s].skipped, i)) continue;
      uint32_t at = 0;
      for (const auto& [offset, length] : pieces[s][i]) {
        ASSERT_EQ(offset, at) << "document " << i << " of stream " << s;
        at += length;
      }
      ASSERT_EQ(at, lengths[s][i]) << "document " << i << " of stream " << s;
    }
  }
}

uint64_t LongestMicroBatch(const TestJob& job) {
  uint64_t longest = 0;
  for (const TestJob::Emitted& emitted : job.emitted()) {
    for (const MicroBatch& micro_batch : emitted.step.micro_batches) {
      longest = std::max(longest, micro_batch.tokens);
    }
  }
  return longest;
}

uint64_t GreatestDelay(const TestJob& job) {
  uint64_t greatest = 0;
  for (const TestJob::Emitted& emitted : job.emitted()) {
    for (const MicroBatch& micro_batch : emitted.step.micro_batches) {
      for (const Document& document : micro_batch.documents) {
        greatest = std::max(greatest, emitted.last_batch - document.batch);
      }
    }
  }
  return greatest;
}

}  // namespace evenpack::testing
