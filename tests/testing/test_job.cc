#include "tests/testing/test_job.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <variant>

#include "server/core/engine/apply.h"
#include "server/core/engine/decide.h"
#include "tests/testing/test_documents.h"

namespace evenpack::testing {

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

void ResolveCosts(JobSpec& spec) {
  spec.workload = QuadraticWorkload(47000, spec.max_length, spec.micro_batches);
}

TestJob::TestJob(JobSpec spec) {
  const absl::Status created = Do(CreateJob{std::move(spec)});
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
  if (const auto* updated = std::get_if<JobUpdated>(&event); updated != nullptr) {
    while (!emitted_.empty() && emitted_.back().step.index >= updated->from_step) {
      emitted_.pop_back();
    }
  }
  if (const auto* decided = std::get_if<StepDecided>(&event); decided != nullptr) {
    emitted_.push_back({decided->step, state_.position.batches_admitted - 1,
                        state_.spec.micro_batches, state_.spec.max_length});
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

void Collect(const TestJob::Emitted& emitted, Pieces& pieces) {
  ASSERT_EQ(emitted.step.micro_batches.size(), emitted.micro_batches);
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
    ASSERT_LE(tokens, emitted.max_length) << "step " << emitted.step.index;
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
