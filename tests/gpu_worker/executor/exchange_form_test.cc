#include "gpu_worker/executor/exchange_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace evenpack::worker {
namespace {

TEST(ExchangeFormTest, IsAnotherForWhateverMakesRowsMeanSomethingElse) {
  PreparedMicroBatch prepared;
  prepared.shape = {.type = ElementType::kBfloat16,
                    .query_heads = kMaxHeads,
                    .kv_heads = kMaxHeads,
                    .head_size = 256};
  HeadRange heads = {kMaxHeads - 1, 1};
  ExchangeUse use = ExchangeUse::kKeysForward;
  std::multiset<uint64_t> forms;
  const auto add = [&] {
    forms.insert(FormOf(prepared, HeadView(prepared.shape, heads), use));
  };
  add();
  use = ExchangeUse::kKeysBackward;
  add();
  use = ExchangeUse::kGradients;
  add();
  prepared.shape.type = ElementType::kFloat16;
  add();
  prepared.shape.query_heads = kMaxHeads * 3 / 4;
  add();
  prepared.shape.head_size = 192;
  add();
  heads.begin = kMaxHeads - 2;
  add();
  prepared.index = (1U << 20) - 1;
  add();
  prepared.index = (1U << 20) - 2;
  add();
  prepared.shape.scale = 0.5F;
  add();
  prepared.shape.sliding_window = 9;
  add();
  prepared.plan.high = 1;
  add();
  EXPECT_THAT(forms, ::testing::Not(::testing::Contains(0U)));
  EXPECT_EQ(std::set<uint64_t>(forms.begin(), forms.end()).size(), forms.size());
}

TEST(ExchangeFormTest, IsTheSameForTheDefaultScaleAndItsNumber) {
  PreparedMicroBatch prepared;
  const auto form = [&] {
    return FormOf(prepared, HeadView(prepared.shape, {0, 1}), ExchangeUse::kGradients);
  };
  const uint64_t by_default = form();
  prepared.shape.scale = 0.125F;
  EXPECT_EQ(form(), by_default);
}

}  // namespace
}  // namespace evenpack::worker
