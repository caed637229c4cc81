#include "server/core/cost/model_spec.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/server/core/cost/refused_field.h"

namespace evenpack {
namespace {

// Small enough to count by hand: Q and output 4x8 each, K and V 4x4 each.
ModelSpec Tiny() {
  ModelSpec model;
  model.name = "tiny";
  model.layers = 3;
  model.hidden = 4;
  model.query_heads = 4;
  model.kv_heads = 2;
  model.head_size = 2;
  model.ffn_size = 5;
  model.vocabulary = 10;
  return model;
}

uint64_t PairsOneByOne(uint64_t length, uint64_t window) {
  uint64_t pairs = 0;
  for (uint64_t query = 1; query <= length; ++query) {
    pairs += window == 0 ? query : std::min(query, window);
  }
  return pairs;
}

TEST(AttendedPairs, CountsEachQuerysKeys) {
  for (const uint32_t window : {0u, 1u, 2u, 7u, 50u}) {
    for (uint64_t length = 0; length <= 60; ++length) {
      EXPECT_EQ(AttendedPairs(length, window), PairsOneByOne(length, window))
          << length << " tokens, window " << window;
    }
  }
}

TEST(AttendedPairs, HoldsTheLongestDocument) {
  constexpr uint64_t kLongest = 2147483647;
  EXPECT_EQ(AttendedPairs(kLongest, 0), kLongest * (kLongest + 1) / 2);
  EXPECT_EQ(AttendedPairs(4294967295, 0), 9223372034707292160u);
  EXPECT_EQ(AttendedPairs(kLongest, 4096),
            uint64_t{4096} * 4097 / 2 + (kLongest - 4096) * 4096);
}

TEST(AttentionFlops, AreFourPerPairHeadElementAndLayer) {
  EXPECT_EQ(AttentionFlops(Tiny(), 10), 4.0 * 4 * 2 * 3 * 55);
  EXPECT_EQ(AttentionFlops(Tiny(), 0), 0.0);
}

TEST(AttentionFlops, CountWindowedLayersApart) {
  ModelSpec model = Tiny();
  model.window = 4;
  model.window_layers = 2;
  // One full layer of 55 pairs, two of 10 + 6 * 4.
  EXPECT_EQ(AttentionFlops(model, 10), 4.0 * 4 * 2 * (55 + 2 * 34));
}

TEST(LinearFlops, OfADenseGatedModel) {
  // Per layer: Q and output 2 * 32, K and V 2 * 16, three matrices of 20; head 40.
  EXPECT_EQ(LinearFlopsPerToken(Tiny()), 2.0 * (3 * (64 + 32 + 60) + 40));
}

TEST(LinearFlops, OfAPlainFeedForwardNetwork) {
  ModelSpec model = Tiny();
  model.ffn_kind = ModelSpec::kPlain;
  EXPECT_EQ(LinearFlopsPerToken(model), 2.0 * (3 * (64 + 32 + 40) + 40));
}

TEST(LinearFlops, CountTheRouterAndTheActiveExpertsAlone) {
  ModelSpec model = Tiny();
  model.experts = 8;
  model.active_experts = 2;
  EXPECT_EQ(LinearFlopsPerToken(model), 2.0 * (3 * (64 + 32 + 2 * 60 + 32) + 40));
}

TEST(ParameterCount, CountsAllExpertsAndBothEndsOfTheVocabulary) {
  EXPECT_EQ(ParameterCount(Tiny()), 3.0 * (64 + 32 + 60 + 8) + 80 + 4);
  ModelSpec model = Tiny();
  model.experts = 8;
  model.active_experts = 2;
  EXPECT_EQ(ParameterCount(model), 3.0 * (64 + 32 + 8 * 60 + 32 + 8) + 80 + 4);
}

TEST(ValidateModel, AcceptsDenseMixtureAndWindowedModels) {
  ModelSpec model = Tiny();
  EXPECT_TRUE(Validate(model).ok());
  model.experts = 8;
  model.active_experts = 8;
  model.window = 1;
  model.window_layers = 3;
  model.ffn_kind = ModelSpec::kPlain;
  EXPECT_TRUE(Validate(model).ok()) << Validate(model);
}

TEST(ValidateModel, NamesTheFieldTheValueAndWhatIsAccepted) {
  const struct {
    std::function<void(ModelSpec&)> spoil;
    const char* field;
    const char* value;
    const char* accepted;
  } cases[] = {
      {[](ModelSpec& m) { m.layers = 0; }, "model.layers", "0", "1 to 10000"},
      {[](ModelSpec& m) { m.layers = 10'001; }, "model.layers", "10001", "1 to 10000"},
      {[](ModelSpec& m) { m.hidden = 0; }, "model.hidden", "0", "1 to 16777216"},
      {[](ModelSpec& m) { m.query_heads = 0; }, "model.query_heads", "0", "1 to 65536"},
      {[](ModelSpec& m) { m.kv_heads = 0; }, "model.kv_heads", "0", "1 to 65536"},
      {[](ModelSpec& m) { m.kv_heads = 3; }, "model.query_heads", "4",
       "a multiple of model.kv_heads = 3"},
      {[](ModelSpec& m) { m.kv_heads = 8; }, "model.query_heads", "4",
       "a multiple of model.kv_heads = 8"},
      {[](ModelSpec& m) { m.head_size = 5000; }, "model.head_size", "5000",
       "1 to 4096"},
      {[](ModelSpec& m) { m.ffn_size = 0; }, "model.ffn_size", "0", "1 to 16777216"},
      {[](ModelSpec& m) { m.ffn_kind = static_cast<ModelSpec::FfnKind>(2); },
       "model.ffn_kind", "2", "0 (gated) or 1 (plain)"},
      {[](ModelSpec& m) { m.vocabulary = 0; }, "model.vocabulary", "0", "1 to "},
      {[](ModelSpec& m) { m.experts = 65'537; }, "model.experts", "65537",
       "0 (dense) to 65536"},
      {[](ModelSpec& m) { m.active_experts = 1; }, "model.active_experts", "1",
       "0, as model.experts is 0"},
      {[](ModelSpec& m) { m.experts = 4; }, "model.active_experts", "0",
       "1 to model.experts = 4"},
      {[](ModelSpec& m) { m.experts = 4, m.active_experts = 5; },
       "model.active_experts", "5", "1 to model.experts = 4"},
      {[](ModelSpec& m) { m.window = 8, m.window_layers = 4; }, "model.window_layers",
       "4", "0 to model.layers = 3"},
      {[](ModelSpec& m) { m.window_layers = 2; }, "model.window", "0",
       "at least 1, as model.window_layers is 2"},
  };
  for (const auto& refused : cases) {
    ModelSpec model = Tiny();
    refused.spoil(model);
    EXPECT_THAT(Validate(model),
                RefusesField(refused.field, refused.value, refused.accepted));
  }
}

}  // namespace
}  // namespace evenpack
