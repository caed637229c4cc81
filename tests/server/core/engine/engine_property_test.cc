// What holds for every policy and any stream: each document exactly once, no bound
// exceeded, waiting bounded, the same digest again.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "server/core/engine/job_layout.h"
#include "tests/testing/spared_rounds.h"
#include "tests/testing/test_documents.h"
#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

using testing::MakeSpec;
using testing::TestJob;

std::vector<uint32_t> Uniform(uint32_t least, uint32_t most, size_t count,
                              uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint32_t> lengths(count);
  for (uint32_t& length : lengths) length = testing::Draw(random, least, most);
  return lengths;
}

std::vector<uint32_t> Sorted(bool rising) {
  std::vector<uint32_t> lengths =
      testing::SkewedLengths(41, 12000, testing::kLongWindow);
  std::sort(lengths.begin(), lengths.end());
  if (!rising) std::reverse(lengths.begin(), lengths.end());
  return lengths;
}

std::vector<uint32_t> GiantAmongDust() {
  std::vector<uint32_t> lengths(40000, 40);
  lengths[20000] = testing::kLongWindow + testing::kLongWindow / 2;
  return lengths;
}

struct Stream {
  std::string name;
  std::vector<uint32_t> lengths;
};

std::vector<Stream> HostileStreams() {
  return {
      {"skewed", testing::SkewedLengths(42, 12000, testing::kLongWindow)},
      {"50K to 70K", Uniform(50000, 70000, 1500, 43)},
      {"all 100K", std::vector<uint32_t>(1200, 100000)},
      {"all 65,537", std::vector<uint32_t>(1200, 65537)},
      {"rising", Sorted(true)},
      {"falling", Sorted(false)},
      {"constant", std::vector<uint32_t>(10000, 4096)},
      {"one giant among dust", GiantAmongDust()},
      {"whole windows", std::vector<uint32_t>(300, testing::kLongWindow)},
      {"longest accepted",
       std::vector<uint32_t>(300, testing::kLongWindow + testing::kLongWindow / 2)},
      {"one document", {7}},
      {"one token each", std::vector<uint32_t>(5000, 1)},
  };
}

struct NamedSpec {
  std::string name;
  JobSpec spec;
};

std::vector<NamedSpec> Specs() {
  std::vector<NamedSpec> specs;
  const auto add = [&specs](const std::string& name, PolicyKind kind,
                            const std::function<void(JobSpec&)>& change) {
    for (const uint32_t micro_batches : {1U, 4U, 16U}) {
      JobSpec spec = MakeSpec(kind, micro_batches, testing::kLongWindow);
      change(spec);
      specs.push_back({name + ", N = " + std::to_string(micro_batches), spec});
    }
  };
  add("original", PolicyKind::kOriginal, [](JobSpec&) {});
  add("original split", PolicyKind::kOriginal,
      [](JobSpec& spec) { spec.policy.split_documents = true; });
  add("original D=2", PolicyKind::kOriginal, [](JobSpec& spec) { spec.max_delay = 2; });
  add("fixed_greedy", PolicyKind::kFixedGreedy, [](JobSpec&) {});
  add("fixed_greedy g=8 D=9", PolicyKind::kFixedGreedy, [](JobSpec& spec) {
    spec.policy.window_batches = 8;
    spec.max_delay = 9;
  });
  for (const int delay : {-1, 0, 1, 7}) {
    add("wlb two queues D=" + std::to_string(delay), PolicyKind::kWlb,
        [delay](JobSpec& spec) {
          spec.policy.queue_thresholds = {49152, 98304};
          if (delay >= 0) spec.max_delay = static_cast<uint64_t>(delay);
        });
  }
  for (const int delay : {-1, 0, 1, 7}) {
    add("balanced D=" + std::to_string(delay), PolicyKind::kBalanced,
        [delay](JobSpec& spec) {
          if (delay >= 0) spec.max_delay = static_cast<uint64_t>(delay);
        });
  }
  add("balanced, placed, few in flight", PolicyKind::kBalanced, [](JobSpec& spec) {
    spec.pipeline_parallel = 4;
    spec.data_parallel = spec.micro_batches == 1 ? 1 : 2;
    spec.policy.balanced.max_in_flight_tokens = 3 * testing::kLongWindow;
  });
  add("balanced, steady", PolicyKind::kBalanced,
      [](JobSpec& spec) { spec.policy.balanced.token_spread_ppm = 50'000; });
  add("balanced, steady, with long ones in each", PolicyKind::kBalanced,
      [](JobSpec& spec) {
        spec.policy.balanced.token_spread_ppm = 50'000;
        spec.policy.balanced.long_share_spread_ppm = 500'000;
      });
  add("balanced by class, unfinished", PolicyKind::kBalanced, [](JobSpec& spec) {
    spec.policy.balanced.release = ReleaseMode::kByClass;
    spec.policy.balanced.finish = false;
  });
  add("balanced without a reserve", PolicyKind::kBalanced,
      [](JobSpec& spec) { spec.policy.balanced.release = ReleaseMode::kByLevel; });
  add("wlb backlog limit 1", PolicyKind::kWlb, [](JobSpec& spec) {
    spec.policy.queue_thresholds = {49152, 98304};
    spec.backlog_limit = 1;
  });
  return specs;
}

TEST(EnginePropertyTest, ExactlyOnceAndBoundedOnHostileStreams) {
  uint64_t round = 0;
  for (const Stream& stream : HostileStreams()) {
    for (const NamedSpec& named : Specs()) {
      if (testing::IsSpared(round++)) continue;
      SCOPED_TRACE(named.name + " on " + stream.name);
      TestJob job(named.spec);
      job.Run(stream.lengths, 5);
      ExpectExactlyOnce(job, {stream.lengths});
      if (named.spec.max_delay.has_value()) {
        EXPECT_LE(GreatestDelay(job), *named.spec.max_delay);
      }
      // One admission beyond the limit at most: N x L and its last document.
      const uint64_t batch = GlobalBatchTokens(named.spec);
      const auto limit =
          static_cast<uint64_t>(named.spec.backlog_limit * static_cast<double>(batch));
      EXPECT_LE(job.most_waiting_tokens(),
                limit + batch * BatchesPerWindow(named.spec) + named.spec.max_length);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(EnginePropertyTest, FixedLengthPoliciesKeepToTheWindow) {
  const std::vector<uint32_t> lengths =
      testing::SkewedLengths(44, 12000, testing::kLongWindow);
  for (const NamedSpec& named : Specs()) {
    if (IsVariableLength(named.spec.policy.kind)) continue;
    SCOPED_TRACE(named.name);
    TestJob job(named.spec);
    job.Run(lengths, 6);
    ExpectExactlyOnce(job, {lengths});
    EXPECT_LE(LongestMicroBatch(job), testing::kLongWindow);
  }
}

TEST(EnginePropertyTest, OverlongDocumentsAreCutAndNothingIsLost) {
  for (NamedSpec named : Specs()) {
    SCOPED_TRACE(named.name);
    named.spec.split_overlong = true;
    std::vector<uint32_t> lengths = testing::SkewedLengths(45, 2000, 500000);
    lengths.push_back(3 * named.spec.max_length);
    TestJob job(named.spec);
    job.Run(lengths, 7);
    ExpectExactlyOnce(job, {lengths});
  }
}

TEST(EnginePropertyTest, DelayIsBoundedOverRandomStreamsAndBounds) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    const PolicyKind kind = seed % 2 == 0 ? PolicyKind::kWlb : PolicyKind::kBalanced;
    JobSpec spec = MakeSpec(kind, testing::Draw(random, 1, 9), 1000);
    spec.max_length = testing::Draw(random, 1000, 2500);
    testing::ResolveCosts(spec);
    spec.max_delay = testing::Draw(random, 0, 6);
    spec.policy.queue_thresholds = {testing::Draw(random, 1, 400),
                                    testing::Draw(random, 401, 2000)};
    const std::vector<uint32_t> lengths =
        testing::SkewedLengths(seed, 3000, spec.max_length);
    TestJob job(spec);
    job.Run(lengths, seed);
    ExpectExactlyOnce(job, {lengths});
    EXPECT_LE(GreatestDelay(job), *spec.max_delay) << seed;
  }
}

std::vector<NamedSpec> LayoutSpecs() {
  std::vector<NamedSpec> specs;
  const auto add = [&specs](const std::string& name, Layout layout, Sharding sharding,
                            const std::function<void(JobSpec&)>& change) {
    for (const PolicyKind policy : {PolicyKind::kOriginal, PolicyKind::kFixedGreedy,
                                    PolicyKind::kWlb, PolicyKind::kBalanced}) {
      JobSpec spec = MakeSpec(policy, 4, 4096);
      spec.policy.queue_thresholds = {1536, 3072};
      spec.policy.window_batches = 2;
      spec.context_parallel = 2;
      spec.tensor_parallel = 8;
      spec.layout.kind = layout;
      spec.sharding = sharding;
      change(spec);
      specs.push_back({name + " " + std::to_string(static_cast<int>(policy)), spec});
    }
  };
  const auto plain = [](JobSpec&) {};
  add("megatron", Layout::kMegatronThd, Sharding::kPerDocument, plain);
  add("megatron, sequence parallel", Layout::kMegatronThd, Sharding::kPerDocument,
      [](JobSpec& spec) { spec.layout.sequence_parallel = true; });
  add("megatron, odd TP alone", Layout::kMegatronThd, Sharding::kPerDocument,
      [](JobSpec& spec) {
        spec.context_parallel = 1;
        spec.tensor_parallel = 3;
        spec.layout.sequence_parallel = true;
        spec.max_delay = 3;
      });
  add("te by sequence", Layout::kTeThd, Sharding::kPerSequence, [](JobSpec& spec) {
    spec.context_parallel = 5;
    spec.layout.sequence_parallel = true;
  });
  add("pytorch, few documents", Layout::kPytorchCp, Sharding::kPerDocument,
      [](JobSpec& spec) { spec.layout.max_documents = 7; });
  add("ring, padded to 512", Layout::kRingLlama3, Sharding::kContiguous,
      [](JobSpec& spec) { spec.layout.pad_tokens_to = 512; });
  add("flat, ladder", Layout::kHfFlat, Sharding::kPerSequence, [](JobSpec& spec) {
    spec.context_parallel = 1;
    spec.layout.sequence_parallel = true;
    spec.layout.shape_ladder = {1024, 4096, 6144, 8192};
  });
  add("native, ladder, cuts", Layout::kNative, Sharding::kPerDocument,
      [](JobSpec& spec) {
        spec.layout.shape_ladder = {3000, 4500};
        spec.layout.max_documents = 40;
        spec.policy.split_documents = true;
      });
  add("native, hybrid, padded to 512", Layout::kNative, Sharding::kHybrid,
      [](JobSpec& spec) {
        spec.context_parallel = 3;
        spec.layout.pad_tokens_to = 512;
        spec.hybrid.cut_token_ps = 100;
        spec.kernel_latency = KernelLatencyTable::FromGrid({128, 256}, {128, 256},
                                                           {1000, 2000, 1000, 2000}, 0)
                                  .value();
      });
  add("megatron, padded to 1,024, cuts", Layout::kMegatronThd, Sharding::kPerDocument,
      [](JobSpec& spec) {
        spec.layout.pad_tokens_to = 1024;
        spec.policy.split_documents = true;
        spec.max_delay = 1;
      });
  return specs;
}

TEST(EnginePropertyTest, EveryLayoutKeepsItsBoundsAfterPadding) {
  for (const NamedSpec& named : LayoutSpecs()) {
    SCOPED_TRACE(named.name);
    ASSERT_TRUE(Validate(named.spec).ok()) << Validate(named.spec);
    const uint32_t longest = LongestDocument(named.spec);
    std::vector<uint32_t> lengths = testing::SkewedLengths(48, 3000, longest);
    lengths.insert(lengths.end(), 300, 1);
    TestJob job(named.spec);
    job.Run(lengths, 8);
    ExpectExactlyOnce(job, {lengths});
    if (named.spec.max_delay.has_value()) {
      EXPECT_LE(GreatestDelay(job), *named.spec.max_delay);
    }
    if (HasFatalFailure()) return;
  }
}

TEST(EnginePropertyTest, EveryLayoutCutsWhatIsTooLongForIt) {
  for (NamedSpec named : LayoutSpecs()) {
    SCOPED_TRACE(named.name);
    named.spec.split_overlong = true;
    const std::vector<uint32_t> lengths = testing::SkewedLengths(49, 600, 20000);
    TestJob job(named.spec);
    job.Run(lengths, 9);
    ExpectExactlyOnce(job, {lengths});
    if (HasFatalFailure()) return;
  }
}

// Micro-batches of fixed length keep to the window with their padding, but for
// documents that are alone since they fit no other way.
TEST(EnginePropertyTest, FixedLengthPoliciesKeepToTheWindowWithPadding) {
  for (const NamedSpec& named : LayoutSpecs()) {
    if (IsVariableLength(named.spec.policy.kind)) continue;
    SCOPED_TRACE(named.name);
    const std::vector<uint32_t> lengths =
        testing::SkewedLengths(50, 3000, LongestDocument(named.spec));
    TestJob job(named.spec);
    job.Run(lengths, 10);
    for (const TestJob::Emitted& emitted : job.emitted()) {
      for (const MicroBatch& micro_batch : emitted.step.micro_batches) {
        EXPECT_TRUE(micro_batch.tokens + micro_batch.padding <= named.spec.window ||
                    micro_batch.documents.size() == 1);
      }
    }
  }
}

TEST(EnginePropertyTest, SeveralStreamsComeOutExactlyOnceInEitherMerge) {
  for (const MergeMode merge : {MergeMode::kInterleave, MergeMode::kArrival}) {
    JobSpec spec = MakeSpec(PolicyKind::kWlb, 4, 1000);
    spec.streams = {{"a", 3}, {"b", 1}, {"c", 2}};
    spec.merge = merge;
    spec.policy.queue_thresholds = {375, 750};
    TestJob job(spec);
    std::mt19937_64 random(46);
    std::vector<std::vector<uint32_t>> sent(3);
    for (int round = 0; round < 60; ++round) {
      const uint32_t s = testing::Draw(random, 0, 2);
      const std::vector<uint32_t> lengths =
          testing::SkewedLengths(random(), testing::Draw(random, 0, 90), 1000);
      ASSERT_TRUE(job.Ingest(lengths, spec.streams[s].name).ok());
      sent[s].insert(sent[s].end(), lengths.begin(), lengths.end());
      job.FormAll().IgnoreError();
    }
    for (const StreamSpec& stream : spec.streams) {
      ASSERT_TRUE(job.End(stream.name).ok());
    }
    job.FormAll().IgnoreError();
    ASSERT_TRUE(IsDrained(job.state()));
    ExpectExactlyOnce(job, sent);
  }
}

}  // namespace
}  // namespace evenpack
