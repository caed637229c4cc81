// Commands of every kind in random order, as producers, trainers and operators send
// them while a server restarts: what is promised must hold in between and at the end.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/cost/named_models.h"
#include "server/core/engine/apply.h"
#include "server/core/engine/checkpoint.h"
#include "server/core/engine/event_codec.h"
#include "server/core/engine/job_layout.h"
#include "server/core/engine/reconfigure.h"
#include "server/core/engine/state_codec.h"
#include "tests/testing/spared_rounds.h"
#include "tests/testing/test_documents.h"
#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

using testing::Draw;
using testing::QuadraticWorkload;
using testing::TestJob;

KernelLatencyTable TileModel() {
  return KernelLatencyTable::FromTileModel(NamedModel("7B").value(),
                                           NamedHardware("H100").value(), 1)
      .value();
}

class RandomRun {
 public:
  explicit RandomRun(uint64_t seed) : random_(seed), job_(FirstSpec()) {
    sent_.resize(job_.state().spec.streams.size());
  }

  void Run() {
    for (uint32_t round = Pick(20, 150); round > 0 && !::testing::Test::HasFailure();
         --round) {
      switch (Pick(0, 13)) {
        case 0:
        case 1:
        case 2:
        case 3:
          Ingest();
          break;
        case 4:
        case 5:
        case 6:
          Form(Pick(1, 6));
          break;
        case 7:
          Acknowledge();
          break;
        case 8:
          Update();
          break;
        case 9:
          Rewind();
          break;
        case 10:
          Skip();
          break;
        case 11:
          ReturnToCheckpoint();
          break;
        case 12:
          Calibrate();
          break;
        default:
          Restart();
          break;
      }
    }
    Drain();
    ExpectExactlyOnce(job_, sent_);
  }

 private:
  uint32_t Pick(uint32_t least, uint32_t most) { return Draw(random_, least, most); }

  JobSpec FirstSpec() {
    JobSpec spec;
    for (uint32_t s = Pick(1, 4); s > 0; --s) {
      spec.streams.push_back({std::string(1, static_cast<char>('a' + s)), Pick(1, 5)});
    }
    spec.merge = Pick(0, 1) == 0 ? MergeMode::kInterleave : MergeMode::kArrival;
    spec.kernel_latency = TileModel();
    return Reshaped(spec);
  }

  // Everything that an update may change.
  JobSpec Reshaped(JobSpec spec) {
    spec.data_parallel = Pick(1, 3);
    spec.micro_batches = spec.data_parallel * Pick(1, 4);
    spec.context_parallel = Pick(1, 5);
    spec.pipeline_parallel = Pick(1, 4);
    spec.window = Pick(50, 400);
    spec.max_length = spec.window + Pick(0, spec.window);
    spec.policy.kind = static_cast<PolicyKind>(Pick(0, 3));
    spec.policy.window_batches = Pick(1, 5);
    spec.policy.queue_thresholds.clear();
    uint32_t threshold = 0;
    for (uint32_t k = Pick(0, 3); k > 0; --k) {
      spec.policy.queue_thresholds.push_back(threshold += Pick(1, 150));
    }
    spec.policy.split_documents = Pick(0, 1) == 0;
    BalancedSpec& balanced = spec.policy.balanced;
    balanced.release = static_cast<ReleaseMode>(Pick(0, 1));
    balanced.finish = Pick(0, 3) != 0;
    balanced.delay_price_ppm = Pick(0, 100'000);
    balanced.token_spread_ppm.reset();
    if (Pick(0, 2) == 0) balanced.token_spread_ppm = Pick(1, 300'000);
    balanced.long_share_spread_ppm.reset();
    if (Pick(0, 2) == 0) balanced.long_share_spread_ppm = Pick(0, 1'000'000);
    balanced.attention_error_64ths = Pick(0, 63);
    balanced.place = Pick(0, 1) == 0;
    balanced.sync_domain = static_cast<SyncDomain>(Pick(0, 1));
    balanced.max_in_flight_tokens =
        Pick(0, 2) == 0 ? spec.max_length + Pick(0, 5000) : 0;
    spec.split_overlong = Pick(0, 1) == 0;
    spec.max_delay.reset();
    if (Pick(0, 1) == 0) spec.max_delay = Pick(BatchesPerWindow(spec) - 1, 9);
    spec.backlog_limit = Pick(0, 12) / 2.0;
    spec.retain_checkpoints = Pick(1, 4);
    spec.max_steps_ahead = Pick(0, 3) == 0 ? Pick(5, 40) : 100000;
    spec.sharding = static_cast<Sharding>(Pick(0, 2));
    spec.layout = {};
    testing::ResolveCosts(spec);
    if (Pick(0, 1) == 0) return spec;
    JobSpec laid_out = WithLayout(spec);
    return Validate(laid_out).ok() ? laid_out : spec;
  }

  JobSpec WithLayout(JobSpec spec) {
    spec.layout.kind = static_cast<Layout>(Pick(0, 5));
    if (spec.layout.kind == Layout::kRingLlama3) spec.sharding = Sharding::kContiguous;
    if (spec.layout.kind == Layout::kHfFlat) {
      spec.sharding = Sharding::kPerSequence;
      spec.context_parallel = 1;
    }
    spec.layout.sequence_parallel =
        spec.layout.kind != Layout::kNative && Pick(0, 1) == 0;
    spec.tensor_parallel = Pick(1, 4);
    if (Pick(0, 2) == 0) spec.layout.max_documents = Pick(1, 30);
    const uint32_t unit = ParallelUnitsOf(spec).total;
    if (Pick(0, 2) == 0) {
      spec.layout.pad_tokens_to = unit * Pick(1, 3);
    } else if (Pick(0, 1) == 0) {
      for (uint32_t rung = unit; rung <= spec.max_length; rung += unit * Pick(1, 9)) {
        spec.layout.shape_ladder.push_back(rung);
      }
    }
    return spec;
  }

  void Ingest() {
    const JobSpec& spec = job_.state().spec;
    const uint32_t stream = Pick(0, static_cast<uint32_t>(sent_.size()) - 1);
    std::vector<uint32_t>& sent = sent_[stream];
    evenpack::Ingest command;
    command.stream = spec.streams[stream].name;
    // Often some documents once more.
    const auto again = std::min<size_t>(sent.size(), Pick(0, 1) * Pick(0, 20));
    command.first_sequence = sent.size() - again;
    command.lengths.assign(sent.end() - static_cast<ptrdiff_t>(again), sent.end());
    const uint32_t longest =
        spec.split_overlong ? 3 * spec.max_length : LongestDocument(spec);
    for (uint32_t n = Pick(0, 30); n > 0; --n) {
      command.lengths.push_back(Pick(1, Pick(0, 9) < 8 ? longest / 10 + 1 : longest));
    }
    const absl::Status status = job_.Do(command);
    ASSERT_TRUE(status.ok()) << status;
    sent.insert(sent.end(), command.lengths.begin() + static_cast<ptrdiff_t>(again),
                command.lengths.end());
  }

  void Form(uint32_t steps) {
    for (; steps > 0 && job_.Do(FormStep{}).ok(); --steps) CheckLastStep();
  }

  void CheckLastStep() {
    const TestJob::Emitted& last = job_.emitted().back();
    ASSERT_GT(StepTokens(last.step), 0U);
    for (const MicroBatch& micro_batch : last.step.micro_batches) {
      for (const Document& document : micro_batch.documents) {
        ASSERT_FALSE(
            IsIn(job_.state().streams[document.stream].skipped, document.sequence));
      }
    }
    const std::optional<uint64_t> bound = job_.state().spec.max_delay;
    if (!bound.has_value()) return;
    for (const MicroBatch& micro_batch : last.step.micro_batches) {
      for (const Document& document : micro_batch.documents) {
        ASSERT_LE(last.last_batch - document.batch, *bound);
      }
    }
  }

  void Acknowledge() {
    const JobState& state = job_.state();
    const uint64_t durable = DurableSteps(state);
    const uint64_t next = state.position.next_step;
    if (durable == next) return;
    const uint64_t step = durable + Pick(0, static_cast<uint32_t>(next - durable) - 1);
    const uint64_t epoch = FindStep(state, step)->epoch;
    for (uint32_t rank = 0; rank < state.spec.data_parallel; ++rank) {
      if (Pick(0, 3) == 0) continue;
      ASSERT_TRUE(job_.Do(evenpack::Acknowledge{rank, step, epoch}).ok());
    }
  }

  void Update() {
    const JobState& state = job_.state();
    const uint64_t durable = DurableSteps(state);
    const auto undurable = static_cast<uint32_t>(state.position.next_step - durable);
    const uint64_t from_step = durable + Pick(0, undurable);
    const absl::Status status = job_.Do(UpdateJob{from_step, Reshaped(state.spec)});
    // Refused where a waiting document doesn't fit, and only then.
    ASSERT_TRUE(status.ok() || absl::IsFailedPrecondition(status)) << status;
  }

  // Ranges of any stream, some of which only come.
  std::vector<DocumentRange> Ranges(uint32_t least) {
    std::vector<DocumentRange> ranges(Pick(least, 2));
    for (DocumentRange& range : ranges) {
      const uint32_t stream = Pick(0, static_cast<uint32_t>(sent_.size()) - 1);
      const auto sent = static_cast<uint32_t>(sent_[stream].size());
      range.stream = job_.state().spec.streams[stream].name;
      range.first_sequence = Pick(sent - std::min(sent, 30U), sent + 5);
      range.documents = Pick(1, 12);
    }
    return ranges;
  }

  void Rewind() {
    const JobState& state = job_.state();
    const uint64_t oldest = state.checkpoints.front();
    const auto kept = static_cast<uint32_t>(state.position.next_step - oldest);
    RewindJob command;
    command.from_step = oldest + Pick(0, kept);
    if (Pick(0, 1) == 0) command.spec = Reshaped(state.spec);
    command.skip = Ranges(0);
    const uint64_t epoch = state.epoch;
    const absl::Status status = job_.Do(command);
    ASSERT_TRUE(status.ok() || absl::IsFailedPrecondition(status)) << status;
    if (!status.ok()) return;
    EXPECT_EQ(job_.state().position.next_step, command.from_step);
    EXPECT_EQ(job_.state().epoch, epoch + 1);
  }

  void Skip() {
    const JobState& state = job_.state();
    const uint64_t durable = DurableSteps(state);
    const auto undurable = static_cast<uint32_t>(state.position.next_step - durable);
    const absl::Status status =
        job_.Do(SkipDocuments{durable + Pick(0, undurable), Ranges(1)});
    ASSERT_TRUE(status.ok() || absl::IsFailedPrecondition(status)) << status;
  }

  void Calibrate() {
    const JobState& state = job_.state();
    const uint64_t epoch = state.epoch;
    const Waiting waiting = state.waiting;
    ASSERT_TRUE(
        job_.Do(CalibrateCost{QuadraticWorkload(Pick(10, 50'000), state.spec.max_length,
                                                state.spec.micro_batches),
                              absl::StrCat(Pick(0, 9))})
            .ok());
    EXPECT_EQ(state.epoch, epoch);
    EXPECT_EQ(state.waiting, waiting);
  }

  // Takes a checkpoint, or goes back to the last one taken. What the job then lacks is
  // sent again.
  void ReturnToCheckpoint() {
    const JobState& state = job_.state();
    if (checkpoint_.empty()) {
      const uint64_t oldest = state.checkpoints.front();
      const uint64_t next = state.position.next_step;
      if (oldest == next) return;
      const auto step = oldest + Pick(0, static_cast<uint32_t>(next - oldest) - 1);
      const auto then = CheckpointAfter(state, step);
      ASSERT_TRUE(then.ok() || absl::IsFailedPrecondition(then.status()));
      if (!then.ok()) return;
      checkpoint_ = EncodeState(*then);
      emitted_then_ = job_.emitted();
      emitted_then_.resize(step + 1);
      return;
    }
    const absl::Status status =
        job_.Do(RewindToCheckpoint{std::exchange(checkpoint_, ""), Ranges(0)});
    ASSERT_TRUE(status.ok() || absl::IsFailedPrecondition(status)) << status;
    if (!status.ok()) return;
    job_.set_emitted(emitted_then_);
    for (size_t s = 0; s < sent_.size(); ++s) {
      sent_[s].resize(job_.state().streams[s].next_sequence);
    }
  }

  // A server that restarts has the journal, or a snapshot, and either gives the state.
  void Restart() {
    JobState replayed;
    for (const Event& event : job_.journal()) {
      absl::StatusOr<Event> decoded = DecodeEvent(EncodeEvent(event));
      ASSERT_TRUE(decoded.ok()) << decoded.status();
      Apply(*std::move(decoded), replayed);
    }
    ASSERT_EQ(replayed, job_.state());
    const absl::StatusOr<JobState> decoded = DecodeState(EncodeState(job_.state()));
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    ASSERT_EQ(*decoded, job_.state());
  }

  void Drain() {
    for (const StreamSpec& stream : job_.state().spec.streams) {
      ASSERT_TRUE(job_.End(stream.name).ok());
    }
    while (!IsDrained(job_.state())) {
      const absl::Status status = job_.Do(FormStep{});
      if (absl::IsResourceExhausted(status)) {
        const Step& last = job_.emitted().back().step;
        for (uint32_t rank = 0; rank < job_.state().spec.data_parallel; ++rank) {
          ASSERT_TRUE(
              job_.Do(evenpack::Acknowledge{rank, last.index, last.epoch}).ok());
        }
        continue;
      }
      ASSERT_TRUE(status.ok()) << status;
      ASSERT_NO_FATAL_FAILURE(CheckLastStep());
    }
    Restart();
  }

  std::mt19937_64 random_;
  TestJob job_;
  std::vector<std::vector<uint32_t>> sent_;
  std::string checkpoint_;
  std::vector<TestJob::Emitted> emitted_then_;
};

TEST(RandomCommandsTest, PromisesHoldWhateverIsAskedInWhateverOrder) {
  for (uint64_t seed = 0; seed < 150 && !HasFailure(); ++seed) {
    if (testing::IsSpared(seed)) continue;
    SCOPED_TRACE(seed);
    RandomRun(seed).Run();
  }
}

// Interleaved streams give the same steps however their documents and ends arrive.
TEST(RandomCommandsTest, TimingDoesNotChangeTheSteps) {
  for (uint64_t seed = 0; seed < 100 && !HasFailure(); ++seed) {
    if (testing::IsSpared(seed)) continue;
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    JobSpec spec = testing::MakeSpec(static_cast<PolicyKind>(Draw(random, 0, 2)),
                                     Draw(random, 1, 5), Draw(random, 50, 300));
    spec.streams = {{"a", Draw(random, 1, 5)}, {"b", Draw(random, 1, 5)}, {"c", 1}};
    spec.policy.window_batches = Draw(random, 1, 4);
    spec.policy.queue_thresholds = {Draw(random, 20, 60), Draw(random, 61, 200)};
    spec.backlog_limit = Draw(random, 0, 4);
    std::vector<std::vector<uint32_t>> contents;
    for (size_t s = 0; s < 3; ++s) {
      contents.push_back(
          testing::SkewedLengths(seed + s, Draw(random, 0, 200), spec.max_length));
    }
    TestJob at_once(spec);
    for (size_t s = 0; s < 3; ++s) {
      ASSERT_TRUE(at_once.Ingest(contents[s], spec.streams[s].name).ok());
      ASSERT_TRUE(at_once.End(spec.streams[s].name).ok());
    }
    at_once.FormAll().IgnoreError();

    TestJob trickled(spec);
    std::vector<size_t> at(3, 0);
    while (!IsDrained(trickled.state())) {
      const uint32_t s = Draw(random, 0, 2);
      const std::string& name = spec.streams[s].name;
      const auto first = contents[s].begin() + static_cast<ptrdiff_t>(at[s]);
      const size_t count =
          std::min<size_t>(Draw(random, 1, 15), contents[s].size() - at[s]);
      if (count == 0) {
        ASSERT_TRUE(trickled.End(name).ok());
      } else {
        ASSERT_TRUE(
            trickled.Ingest({first, first + static_cast<ptrdiff_t>(count)}, name).ok());
        at[s] += count;
      }
      for (uint32_t steps = Draw(random, 0, 3); steps > 0; --steps) {
        trickled.Do(FormStep{}).IgnoreError();
      }
    }
    ASSERT_EQ(trickled.emitted().size(), at_once.emitted().size());
    for (size_t k = 0; k < at_once.emitted().size(); ++k) {
      ASSERT_EQ(trickled.emitted()[k].step, at_once.emitted()[k].step);
    }
  }
}

}  // namespace
}  // namespace evenpack
