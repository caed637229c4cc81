#include "gpu_worker/attention/cpu_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "gpu_worker/selftest/made_micro_batch.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;

AttentionShape Shape(uint32_t query_heads, uint32_t kv_heads, uint32_t head_size,
                     uint32_t window = 0, ElementType type = ElementType::kFloat32) {
  AttentionShape shape;
  shape.type = type;
  shape.query_heads = query_heads;
  shape.kv_heads = kv_heads;
  shape.head_size = head_size;
  shape.sliding_window = window;
  return shape;
}

ShardPlan OneRank(const std::vector<uint32_t>& lengths) {
  return Planned(Sharding::kPerSequence, lengths, 1);
}

// One task for each document, whose keys are one run.
std::vector<AttentionTask> WholeDocuments(const std::vector<uint32_t>& lengths) {
  std::vector<AttentionTask> tasks;
  uint64_t row = 0;
  for (uint32_t document = 0; document < lengths.size(); ++document) {
    const uint32_t length = lengths[document];
    tasks.push_back({document, 0, length, row, {{0, length, row, false}}});
    row += length;
  }
  return tasks;
}

// All of a rank's tensors as one call has them.
class WholeCall {
 public:
  WholeCall(const AttentionShape& shape, std::vector<AttentionTask> tasks,
            RankTensors& tensors)
      : tensors_(tensors), tasks_(std::move(tasks)) {
    call_.shape = shape;
    call_.tasks = tasks_;
    call_.query = {tensors.query.data(), shape.query_row()};
    call_.own_key = {tensors.key.data(), shape.kv_row()};
    call_.own_value = {tensors.value.data(), shape.kv_row()};
    const size_t rows = tensors.key.size() / BytesOf(shape.type);
    key_gradient_.assign(rows, 0);
    value_gradient_.assign(rows, 0);
  }

  void Run(AttentionEngine& engine) {
    const AttentionShape& shape = call_.shape;
    const MutableRows output = {tensors_.output.data(), shape.query_row()};
    const FloatRows log_sum_exp = {tensors_.log_sum_exp.data(), shape.query_heads};
    ASSERT_THAT(engine.Forward(call_, {output, log_sum_exp}), IsOk());
    ASSERT_THAT(engine.Backward(call_,
                                {{output.data, output.stride},
                                 log_sum_exp,
                                 {tensors_.output_gradient.data(), shape.query_row()}},
                                {{tensors_.query_gradient.data(), shape.query_row()},
                                 {key_gradient_.data(), shape.kv_row()},
                                 {value_gradient_.data(), shape.kv_row()},
                                 {},
                                 {}}),
                IsOk());
    Store(shape.type, key_gradient_.data(), key_gradient_.size(),
          tensors_.key_gradient.data());
    Store(shape.type, value_gradient_.data(), value_gradient_.size(),
          tensors_.value_gradient.data());
  }

 private:
  RankTensors& tensors_;
  const std::vector<AttentionTask> tasks_;
  AttentionCall call_;
  std::vector<float> key_gradient_;
  std::vector<float> value_gradient_;
};

AttentionErrors ErrorsOf(const AttentionShape& shape,
                         const std::vector<uint32_t>& lengths,
                         std::vector<AttentionTask> tasks) {
  const MadeMicroBatch tensors(shape, lengths, 1);
  const ShardPlan plan = OneRank(lengths);
  std::vector<RankTensors> ranks = {tensors.OfRank(plan, 0)};
  CpuAttention engine(2);
  WholeCall(shape, std::move(tasks), ranks[0]).Run(engine);
  return tensors.Compare(plan, ranks);
}

TEST(CpuAttentionTest, AgreesWithTheDefinitionForEveryShape) {
  struct Row {
    AttentionShape shape;
    std::vector<uint32_t> lengths;
  };
  const Row rows[] = {
      {Shape(1, 1, 64), {1}},
      {Shape(1, 1, 64), {1, 1, 1, 2}},
      {Shape(2, 2, 64), {255, 256, 257}},
      {Shape(2, 1, 64), {520}},
      {Shape(8, 2, 128), {70, 3, 130}},
      {Shape(6, 2, 192), {90, 31}},
      {Shape(3, 3, 256), {65, 64}},
      {Shape(4, 1, 64), {200, 15}},
      {Shape(4, 1, 64), {600, 1100}},
      {Shape(300, 1, 64), {5, 2}},
      {Shape(2, 1, 64, 1), {300}},
      {Shape(2, 1, 64, 100), {300, 99, 100, 101}},
      {Shape(4, 1, 64, 600), {1300}},
      {Shape(1, 1, 64, 10'000), {300}},
  };
  for (const Row& row : rows) {
    const AttentionErrors errors =
        ErrorsOf(row.shape, row.lengths, WholeDocuments(row.lengths));
    EXPECT_LT(errors.Largest(), AcceptedError(ElementType::kFloat32))
        << row.shape.query_heads << ":" << row.shape.kv_heads << " x "
        << row.shape.head_size << ", window " << row.shape.sliding_window;
  }
}

// What is rounded is the result alone, so that the error is half a last place of it and
// of the output that the backward pass reads.
TEST(CpuAttentionTest, HalvesAreReadAndWrittenAndNotComputedWith) {
  const std::vector<uint32_t> lengths = {130, 7, 300};
  struct Row {
    ElementType type;
    double error;
  };
  for (const Row& row :
       {Row{ElementType::kBfloat16, 4e-3}, Row{ElementType::kFloat16, 5e-4}}) {
    const AttentionErrors errors =
        ErrorsOf(Shape(4, 2, 64, 0, row.type), lengths, WholeDocuments(lengths));
    EXPECT_LT(errors.Largest(), row.error) << ElementTypeName(row.type);
    EXPECT_LT(errors.log_sum_exp, 1e-6) << ElementTypeName(row.type);
  }
}

TEST(CpuAttentionTest, KeysMayLieInManyRunsAndQueriesInManyTasks) {
  const AttentionShape shape = Shape(4, 2, 64);
  // A document's late slice first, as no sharding has it.
  const std::vector<AttentionTask> tasks = {
      {0, 100, 300, 100, {{0, 7, 0, false}, {7, 250, 7, false}, {257, 43, 257, false}}},
      {0, 0, 100, 0, {{0, 99, 0, false}, {99, 1, 99, false}}},
  };
  EXPECT_LT(ErrorsOf(shape, {300}, tasks).Largest(),
            AcceptedError(ElementType::kFloat32));
}

TEST(CpuAttentionTest, ResultsDoNotDependOnTheThreads) {
  const AttentionShape shape = Shape(4, 2, 64);
  const std::vector<uint32_t> lengths = {300, 20, 150};
  const MadeMicroBatch tensors(shape, lengths, 1);
  std::vector<RankTensors> results;
  for (const size_t threads : {1U, 2U, 5U}) {
    CpuAttention engine(threads);
    RankTensors& of = results.emplace_back(tensors.OfRank(OneRank(lengths), 0));
    WholeCall(shape, WholeDocuments(lengths), of).Run(engine);
    EXPECT_EQ(of.output, results[0].output);
    EXPECT_EQ(of.log_sum_exp, results[0].log_sum_exp);
    EXPECT_EQ(of.query_gradient, results[0].query_gradient);
    EXPECT_EQ(of.key_gradient, results[0].key_gradient);
    EXPECT_EQ(of.value_gradient, results[0].value_gradient);
  }
}

// Scores of up to 100,000 would overflow an exponential that is not taken relative to
// the largest.
TEST(CpuAttentionTest, LargeScoresDoNotOverflow) {
  AttentionShape shape = Shape(2, 1, 64);
  shape.scale = 10'000;
  const std::vector<uint32_t> lengths = {200};
  const AttentionErrors errors = ErrorsOf(shape, lengths, WholeDocuments(lengths));
  EXPECT_LT(errors.output, 1e-3);
  EXPECT_LT(errors.log_sum_exp, 1e-6);
}

TEST(CpuAttentionTest, NoTasksAreNoWork) {
  const AttentionShape shape = Shape(2, 1, 64);
  RankTensors none;
  CpuAttention engine(2);
  WholeCall(shape, {}, none).Run(engine);
}

}  // namespace
}  // namespace evenpack::worker
