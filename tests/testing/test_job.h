// A job for tests: the engine's two halves put together, with a memory of what
// happened.
#ifndef EVENPACK_TESTS_TESTING_TEST_JOB_H_
#define EVENPACK_TESTS_TESTING_TEST_JOB_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/core/engine/command.h"
#include "server/core/engine/event.h"
#include "server/core/engine/job_state.h"
#include "server/core/outlier/length_sketch.h"

namespace evenpack::testing {

// N micro-batches of window L and max_length 1.5 L, one stream "a", crossover 47,000.
JobSpec MakeSpec(PolicyKind policy, uint32_t micro_batches, uint32_t window);
// Of wlb, four micro-batches of window 1,000, queues from 375 and 750 tokens.
JobSpec QueueSpec();
// The paper's, of which most of its figures are.
inline constexpr uint32_t kLongWindow = 131072;
// Of a stream with each of the lengths, as often as they stand there.
LengthSketch SketchOf(const std::vector<uint32_t>& lengths);
// After a change of max_length.
void ResolveCosts(JobSpec& spec);

class TestJob {
 public:
  explicit TestJob(JobSpec spec, uint64_t lineage = 0);
  // A job that goes on from `state`.
  explicit TestJob(JobState state)
      : state_(std::move(state)), spec_(std::make_shared<JobSpec>(state_.spec)) {}

  // Decide and, if that is OK, apply and journal.
  absl::Status Do(const Command& command);

  absl::Status Ingest(const std::vector<uint32_t>& lengths,
                      const std::string& stream = "a");
  absl::Status End(const std::string& stream = "a");
  // Forms steps until the engine has no documents for another; returns that refusal.
  absl::Status FormAll();
  // Ingests in batches of random size between FormAll calls, ends, and drains.
  void Run(const std::vector<uint32_t>& lengths, uint64_t seed);

  const JobState& state() const { return state_; }
  const std::vector<Event>& journal() const { return journal_; }

  // What was emitted, withdrawn steps left out.
  struct Emitted {
    Step step;
    // Index of the last global batch admitted when the step was formed.
    uint64_t last_batch = 0;
    // What the job asked for then.
    std::shared_ptr<const JobSpec> spec;
  };
  const std::vector<Emitted>& emitted() const { return emitted_; }
  // For a job that goes on from a checkpoint of a history that it had left.
  void set_emitted(std::vector<Emitted> emitted) { emitted_ = std::move(emitted); }
  // Greatest number of tokens that waited after a step.
  uint64_t most_waiting_tokens() const { return most_waiting_tokens_; }

 private:
  void Remember(const Event& event);

  JobState state_;
  std::shared_ptr<const JobSpec> spec_;
  std::vector<Event> journal_;
  std::vector<Emitted> emitted_;
  uint64_t most_waiting_tokens_ = 0;
};

// Fails the test where a document of `lengths`, by stream and sequence number, is not
// in exactly one place or in pieces that make it up (of one that is skipped pieces may
// be missing), or where a step hasn't N
// micro-batches, or one of them has wrong sums, other padding than its layout asks for,
// no valid shard plan, or exceeds the S_max or the max_documents of its time.
void ExpectExactlyOnce(const TestJob& job,
                       const std::vector<std::vector<uint32_t>>& lengths);
// The most tokens of any micro-batch.
uint64_t LongestMicroBatch(const TestJob& job);
// The greatest delay of any document.
uint64_t GreatestDelay(const TestJob& job);

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_TESTING_TEST_JOB_H_
