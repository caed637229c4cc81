#include "client/cli/online/spec_flags.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>

#include "absl/strings/str_cat.h"
#include "client/cli/balanced_flags.h"
#include "client/cli/online/spec_flag_table.h"
#include "evenpack/v1/job.pb.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::kInvalid;
using ::evenpack::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

v1::JobSpec Spec(const std::string& textproto) {
  v1::JobSpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(textproto, &spec));
  return spec;
}

// The spec is `expected` after `values` were applied to `before`; gives the flags
// without effect.
std::vector<std::string> ExpectApplied(const FlagValues& values,
                                       const std::string& before,
                                       const std::string& expected) {
  v1::JobSpec spec = Spec(before);
  const auto unused = ApplySpecFlags(values, spec);
  EXPECT_THAT(unused, IsOk());
  EXPECT_EQ(spec.DebugString(), Spec(expected).DebugString());
  return unused.value_or(std::vector<std::string>());
}

TEST(SpecFlagsTest, EachFlagSetsItsField) {
  const std::vector<std::tuple<std::string, std::string, std::string>> cases = {
      {"--streams", "a,b=3,c=1000000",
       "streams { name: 'a' } streams { name: 'b' weight: 3 } "
       "streams { name: 'c' weight: 1000000 }"},
      {"--merge", "interleave", "merge: MERGE_MODE_INTERLEAVE"},
      {"--merge", "arrival", "merge: MERGE_MODE_ARRIVAL"},
      {"--dp", "2", "parallelism { data: 2 }"},
      {"--micro-batches", "3", "parallelism { micro_batches_per_rank: 3 }"},
      {"--cp", "4", "parallelism { context: 4 }"},
      {"--tp", "5", "parallelism { tensor: 5 }"},
      {"--pp", "6", "parallelism { pipeline: 6 }"},
      {"--virtual-pipeline-group", "7", "parallelism { virtual_pipeline_group: 7 }"},
      {"--ep", "8", "parallelism { expert: 8 }"},
      {"--window", "131072", "window: 131072"},
      {"--max-length", "196608", "max_length: 196608"},
      {"--policy", "original", "policy { original {} }"},
      {"--policy", "fixed_greedy", "policy { fixed_greedy {} }"},
      {"--policy", "wlb", "policy { wlb {} }"},
      {"--queue-thresholds", "5,9", "policy { wlb { queue_thresholds: [5, 9] } }"},
      {"--split-overlong", "true", "split_overlong: true"},
      {"--max-delay", "0", "max_delay: 0"},
      {"--backlog-limit", "2.5", "backlog_limit: 2.5"},
      {"--crossover", "9", "cost { quadratic { crossover_tokens: 9 } }"},
      {"--ns-per-token", "8", "cost { quadratic { ns_per_token: 8 } }"},
      {"--model", "7B",
       "cost { analytic { model { name: '7B' } hardware { name: 'H100' } } }"},
      {"--sharding", "per_sequence", "sharding: SHARDING_PER_SEQUENCE"},
      {"--sharding", "per_document", "sharding: SHARDING_PER_DOCUMENT"},
      {"--sharding", "adaptive", "sharding: SHARDING_ADAPTIVE"},
      {"--sharding", "contiguous", "sharding: SHARDING_CONTIGUOUS"},
      {"--sharding", "hybrid", "sharding: SHARDING_HYBRID"},
      {"--hybrid-tolerance", "0", "hybrid { token_tolerance_ppm: 0 }"},
      {"--hybrid-token-ps", "8", "hybrid { token_ps: 8 }"},
      {"--hybrid-cut-token-ps", "9", "hybrid { cut_token_ps: 9 }"},
      {"--layout", "native", "consumer_layout { layout: LAYOUT_NATIVE }"},
      {"--layout", "megatron_thd", "consumer_layout { layout: LAYOUT_MEGATRON_THD }"},
      {"--layout", "te_thd", "consumer_layout { layout: LAYOUT_TE_THD }"},
      {"--layout", "pytorch_cp", "consumer_layout { layout: LAYOUT_PYTORCH_CP }"},
      {"--layout", "ring_llama3", "consumer_layout { layout: LAYOUT_RING_LLAMA3 }"},
      {"--layout", "hf_flat", "consumer_layout { layout: LAYOUT_HF_FLAT }"},
      {"--max-documents", "9", "consumer_layout { max_documents: 9 }"},
      {"--pad-tokens-to", "128", "consumer_layout { pad_tokens_to: 128 }"},
      {"--shape-ladder", "64,128", "consumer_layout { shape_ladder: [64, 128] }"},
      {"--sequence-parallel", "true", "consumer_layout { sequence_parallel: true }"},
      {"--cost-profile", "h100", "cost { profile: 'h100' }"},
      {"--attention-scale", "1.25", "cost { attention_scale: 1.25 }"},
      {"--linear-scale", "0.5", "cost { linear_scale: 0.5 }"},
      {"--self-calibrating", "true", "cost { self_calibrating: true }"},
      {"--retain-checkpoints", "2", "retention { checkpoints: 2 }"},
      {"--max-steps-ahead", "4294967296", "retention { max_steps_ahead: 4294967296 }"},
      {"--max-buffered-tokens", "9", "buffer_limits { max_tokens: 9 }"},
      {"--max-buffered-documents", "9", "buffer_limits { max_documents: 9 }"},
      {"--max-buffered-bytes", "9", "buffer_limits { max_bytes: 9 }"},
  };
  std::set<std::string> tested;
  for (const auto& [flag, value, expected] : cases) {
    EXPECT_THAT(ExpectApplied({{flag, value}}, "", expected), IsEmpty()) << flag;
    tested.insert(flag);
  }
  // Those that need another flag are tested below.
  tested.insert({"--window-batches", "--split-documents", "--hardware"});
  for (const FlagDefinition& flag : BalancedFlagDefinitions()) tested.insert(flag.name);
  std::set<std::string> defined;
  for (const auto& flags : {StreamFlagDefinitions(), SpecFlagDefinitions()}) {
    for (const FlagDefinition& flag : flags) defined.insert(flag.name);
  }
  EXPECT_EQ(tested, defined);
}

TEST(SpecFlagsTest, BalancedHasOptions) {
  struct Case {
    const char* flag;
    const char* value;
    const char* field;
  };
  std::set<std::string> tested;
  for (const Case& test :
       {Case{"--token-cv", "0.05", "token_cv: 0.05"},
        Case{"--long-share", "0.5", "long_share: 0.5"},
        Case{"--delay-price", "0.5", "delay_price: 0.5"},
        Case{"--attention-error", "0.5", "attention_error: 0.5"},
        Case{"--release", "class", "release: RELEASE_BY_CLASS"},
        Case{"--release", "workload", "release: RELEASE_BY_WORKLOAD"},
        Case{"--release", "level", "release: RELEASE_BY_LEVEL"},
        Case{"--finish", "false", "finish: false"},
        Case{"--max-in-flight", "999", "max_in_flight_tokens: 999"}}) {
    EXPECT_THAT(ExpectApplied({{"--policy", "balanced"}, {test.flag, test.value}}, "",
                              absl::StrCat("policy { balanced { ", test.field, " } }")),
                IsEmpty())
        << test.flag;
    tested.insert(test.flag);
  }
  EXPECT_EQ(tested.size(), BalancedFlagDefinitions().size());
  // A spec without a policy means balanced, unless it is to have queues.
  EXPECT_THAT(ExpectApplied({{"--finish", "false"}}, "",
                            "policy { balanced { finish: false } }"),
              IsEmpty());
  EXPECT_THAT(ExpectApplied({{"--queue-thresholds", "9"}}, "",
                            "policy { wlb { queue_thresholds: 9 } }"),
              IsEmpty());
  // Another policy has no use for them.
  EXPECT_THAT(ExpectApplied({{"--policy", "wlb"}, {"--token-cv", "0.05"}}, "",
                            "policy { wlb {} }"),
              ElementsAre("--token-cv"));
}

TEST(SpecFlagsTest, ChangeOnlyWhatTheyName) {
  const std::string before =
      "streams { name: 'a' } window: 8 max_length: 9 max_delay: 3 "
      "policy { wlb { queue_thresholds: 5 } } parallelism { data: 2 context: 4 } "
      "consumer_layout { layout: LAYOUT_TE_THD pad_tokens_to: 8 } "
      "cost { analytic { model { name: '7B' } hardware { name: 'H200' } } }";
  ExpectApplied({}, before, before);
  ExpectApplied(
      {{"--cp", "8"}, {"--policy", "wlb"}, {"--model", "70B"}}, before,
      "streams { name: 'a' } window: 8 max_length: 9 max_delay: 3 "
      "policy { wlb { queue_thresholds: 5 } } "
      "parallelism { data: 2 context: 8 } "
      "consumer_layout { layout: LAYOUT_TE_THD pad_tokens_to: 8 } "
      "cost { analytic { model { name: '70B' } hardware { name: 'H200' } } }");
}

TEST(SpecFlagsTest, AnotherPolicyOrModelReplacesTheOneBefore) {
  ExpectApplied({{"--policy", "fixed_greedy"}, {"--window-batches", "8"}},
                "policy { wlb { queue_thresholds: 5 } }",
                "policy { fixed_greedy { window_batches: 8 } }");
  ExpectApplied({{"--policy", "original"}, {"--split-documents", "true"}},
                "policy { wlb {} }", "policy { original { split_documents: true } }");
  ExpectApplied({{"--crossover", "9"}},
                "cost { analytic { model { name: '7B' } } kernel_latency { "
                "launch_ns: 5 } }",
                "cost { quadratic { crossover_tokens: 9 } kernel_latency { "
                "launch_ns: 5 } }");
  ExpectApplied({{"--model", "7B"}, {"--hardware", "H200"}},
                "cost { quadratic { crossover_tokens: 9 } }",
                "cost { analytic { model { name: '7B' } hardware { name: 'H200' } } }");
}

TEST(SpecFlagsTest, AProfileTakesThePlaceOfLatenciesAndOfAModelsAttention) {
  ExpectApplied({{"--cost-profile", "h100"}},
                "cost { quadratic { crossover_tokens: 9 } kernel_latency { "
                "launch_ns: 5 } }",
                "cost { quadratic { crossover_tokens: 9 } profile: 'h100' }");
  ExpectApplied({{"--cost-profile", "h100"}, {"--model", "7B"}, {"--hardware", "H200"}},
                "",
                "cost { profiled { linear { model { name: '7B' } "
                "hardware { name: 'H200' } } } profile: 'h100' }");
  const std::string profiled =
      "cost { profiled { linear { model { name: '7B' } hardware { name: 'H100' } } } "
      "profile: 'a' }";
  ExpectApplied({{"--cost-profile", "b"}}, profiled,
                "cost { profiled { linear { model { name: '7B' } "
                "hardware { name: 'H100' } } } profile: 'b' }");
  ExpectApplied({{"--model", "70B"}}, profiled,
                "cost { profiled { linear { model { name: '70B' } "
                "hardware { name: 'H100' } } } profile: 'a' }");
  ExpectApplied({{"--hardware", "H200"}}, profiled,
                "cost { profiled { linear { model { name: '7B' } "
                "hardware { name: 'H200' } } } profile: 'a' }");
}

TEST(SpecFlagsTest, GivesThoseWithoutEffectAndLeavesThemOut) {
  EXPECT_THAT(ExpectApplied({{"--window-batches", "8"},
                             {"--split-documents", "true"},
                             {"--hardware", "H200"}},
                            "", ""),
              ElementsAre("--window-batches", "--split-documents", "--hardware"));
  EXPECT_THAT(ExpectApplied({{"--queue-thresholds", "5"},
                             {"--backlog-limit", "2"},
                             {"--ns-per-token", "5"}},
                            "policy { original {} } cost { analytic {} }",
                            "policy { original {} } cost { analytic {} }"),
              ElementsAre("--queue-thresholds", "--backlog-limit", "--ns-per-token"));
}

TEST(SpecFlagsTest, RefuseWhatIsOutOfRange) {
  const std::vector<std::pair<FlagValues, std::string>> cases = {
      {{{"--dp", "0"}},
       "--dp: '0' is not accepted; accepted: a whole number from 1 to "
       "65536"},
      {{{"--cp", "1025"}}, "--cp: '1025'"},
      {{{"--window", "2147483648"}}, "--window: '2147483648'"},
      {{{"--streams", "a,,b"}}, "--streams: '' is not accepted; accepted: names"},
      {{{"--streams", "a=0"}},
       "--streams: 'a=0' is not accepted; accepted: NAME=WEIGHT with a weight from 1 "
       "to "
       "1000000"},
      {{{"--streams", "a="}}, "--streams: 'a='"},
      {{{"--merge", "shuffle"}}, "accepted: interleave, arrival"},
      {{{"--policy", "best"}}, "accepted: original, fixed_greedy, wlb"},
      {{{"--sharding", "best"}},
       "accepted: per_sequence, per_document, adaptive, contiguous, hybrid"},
      {{{"--layout", "thd"}},
       "accepted: native, megatron_thd, te_thd, pytorch_cp, ring_llama3, hf_flat"},
      {{{"--model", "8B"}}, "--model: '8B' is not accepted; accepted: 550M, 7B"},
      {{{"--hardware", "T4"}},
       "--hardware: 'T4' is not accepted; accepted: H100, H200"},
      {{{"--model", "7B"}, {"--crossover", "5"}}, "accepted: one of the two"},
      {{{"--shape-ladder", "5,x"}}, "--shape-ladder: 'x'"},
      {{{"--sequence-parallel", "maybe"}}, "accepted: true or false"},
      // Of a policy that the spec doesn't have, but bad all the same.
      {{{"--window-batches", "0"}}, "--window-batches: '0'"},
  };
  for (const auto& [values, message] : cases) {
    v1::JobSpec spec;
    EXPECT_THAT(ApplySpecFlags(values, spec), StatusIs(kInvalid, HasSubstr(message)));
  }
}

}  // namespace
}  // namespace evenpack
