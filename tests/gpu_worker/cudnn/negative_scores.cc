#include "tests/gpu_worker/cudnn/negative_scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/attention/cpu_attention.h"
#include "gpu_worker/attention/element_type.h"
#include "gpu_worker/device/column_sums.h"
#include "gpu_worker/device/device.h"
#include "gpu_worker/device/key_gradients.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::testing {
namespace {

using worker::AttentionCall;
using worker::AttentionShape;
using worker::AttentionTask;
using worker::BackwardResult;
using worker::BytesOf;
using worker::DeviceMemory;
using worker::ElementType;
using worker::FloatRows;

using Bytes = std::vector<char>;
using Numbers = std::vector<float>;

// The first number of each query's heads, so that the first of a key's is the score.
constexpr float kFirst = 8;
constexpr float kScale = 1 / kFirst;

class Given {
 public:
  explicit Given(const NegativeScores& of)
      : shape(of.Shape()), random_(of.length + of.begin) {
    queries = of.length - of.begin;
    query = Rows(queries, shape.query_heads, kFirst);
    first_key_ = shape.FirstKey(of.begin);
    keys = of.length - first_key_;
    key = Rows(keys, shape.kv_heads, of.score);
    value = Rows(keys, shape.kv_heads, 0);
    output_gradient = Rows(queries, shape.query_heads, 0);
    tasks_ = {{0,
               of.begin,
               of.length,
               0,
               {{first_key_, keys, /*row=*/0, /*received=*/false}}}};
  }

  AttentionCall Call(const void* q, const void* k, const void* v) const {
    AttentionCall call;
    call.shape = shape;
    call.tasks = tasks_;
    call.query = {q, shape.query_row()};
    call.own_key = {k, shape.kv_row()};
    call.own_value = {v, shape.kv_row()};
    return call;
  }
  size_t log_sum_exps() const { return size_t{queries} * shape.query_heads; }

  const AttentionShape shape;
  uint32_t queries = 0;
  uint32_t keys = 0;
  Bytes query, key, value, output_gradient;

 private:
  // Normal ones, but for each head's first where that is given.
  Bytes Rows(size_t rows, size_t heads, float first) {
    std::normal_distribution<float> normal(0, 0.3F);
    Numbers numbers(rows * heads * shape.head_size);
    for (size_t at = 0; at < numbers.size(); ++at) {
      const bool is_first = at % shape.head_size == 0 && first != 0;
      numbers[at] = is_first ? first : normal(random_);
    }
    Bytes bytes(numbers.size() * BytesOf(shape.type));
    worker::Store(shape.type, numbers.data(), numbers.size(), bytes.data());
    return bytes;
  }

  std::mt19937 random_;
  uint32_t first_key_ = 0;
  std::vector<AttentionTask> tasks_;
};

struct Results {
  Numbers output, log_sum_exp, query_gradient, key_gradient, value_gradient;
};

Numbers Loaded(ElementType type, const Bytes& bytes) {
  Numbers numbers(bytes.size() / BytesOf(type));
  worker::Load(type, bytes.data(), numbers.size(), numbers.data());
  return numbers;
}

Results OnProcessor(const Given& given) {
  const AttentionShape& shape = given.shape;
  worker::CpuAttention engine(1);
  Bytes output(given.query.size());
  Bytes query_gradient(given.query.size());
  Results results;
  results.log_sum_exp.resize(given.log_sum_exps());
  results.key_gradient.resize(given.keys * shape.kv_row());
  results.value_gradient.resize(given.keys * shape.kv_row());
  const AttentionCall call =
      given.Call(given.query.data(), given.key.data(), given.value.data());
  const FloatRows sums = {results.log_sum_exp.data(), shape.query_heads};
  EXPECT_THAT(engine.Forward(call, {{output.data(), shape.query_row()}, sums}), IsOk());
  BackwardResult into;
  into.query_gradient = {query_gradient.data(), shape.query_row()};
  into.own_key_gradient = {results.key_gradient.data(), shape.kv_row()};
  into.own_value_gradient = {results.value_gradient.data(), shape.kv_row()};
  EXPECT_THAT(engine.Backward(call,
                              {{output.data(), shape.query_row()},
                               sums,
                               {given.output_gradient.data(), shape.query_row()}},
                              into),
              IsOk());
  results.output = Loaded(shape.type, output);
  results.query_gradient = Loaded(shape.type, query_gradient);
  return results;
}

// What a call takes and gives, in a device's memory: results are no numbers at first.
class OnDevice {
 public:
  OnDevice(worker::CudaRank& rank, const Given& given) : rank_(rank), given_(given) {}

  Results Computed() {
    const AttentionShape& shape = given_.shape;
    const AttentionCall call =
        given_.Call(query_->data(), key_->data(), value_->data());
    const FloatRows sums = {static_cast<float*>(sums_->data()), shape.query_heads};
    EXPECT_THAT(
        rank_.engine().Forward(call, {{output_->data(), shape.query_row()}, sums}),
        IsOk());
    std::vector<worker::KeyGradients> left;
    BackwardResult into;
    into.query_gradient = {query_gradient_->data(), shape.query_row()};
    into.key_gradients = &left;
    EXPECT_THAT(rank_.engine().Backward(call,
                                        {{output_->data(), shape.query_row()},
                                         sums,
                                         {output_gradient_->data(), shape.query_row()}},
                                        into),
                IsOk());
    Sum(left);
    return {Read(*output_, shape.type, given_.query.size()),
            Read(*sums_, ElementType::kFloat32, given_.log_sum_exps() * sizeof(float)),
            Read(*query_gradient_, shape.type, given_.query.size()),
            Read(*key_gradient_, shape.type, given_.key.size()),
            Read(*value_gradient_, shape.type, given_.key.size())};
  }

 private:
  using Memory = std::unique_ptr<DeviceMemory>;

  Memory Held(std::span<const char> bytes) {
    Memory memory = rank_.device().Allocate(bytes.size()).value();
    EXPECT_THAT(rank_.device().CopyFromHost(bytes.data(), bytes.size(), memory->data()),
                IsOk());
    return memory;
  }
  Memory Poisoned(size_t bytes) { return Held(Bytes(bytes, '\xff')); }

  void Sum(const std::vector<worker::KeyGradients>& left) {
    const size_t row = given_.shape.kv_row();
    std::vector<worker::ColumnTerm> terms;
    AppendTerms(left, 0, row, terms);
    EXPECT_THAT(SumColumns(terms,
                           {given_.shape.type,
                            {key_gradient_->data(), value_gradient_->data()},
                            row * BytesOf(given_.shape.type),
                            row,
                            given_.keys},
                           rank_.device()),
                IsOk());
  }

  Numbers Read(const DeviceMemory& memory, ElementType type, size_t bytes) {
    Bytes copy(bytes);
    EXPECT_THAT(rank_.device().CopyToHost(memory.data(), bytes, copy.data()), IsOk());
    return Loaded(type, copy);
  }

  worker::CudaRank& rank_;
  const Given& given_;
  const Memory query_ = Held(given_.query);
  const Memory key_ = Held(given_.key);
  const Memory value_ = Held(given_.value);
  const Memory output_gradient_ = Held(given_.output_gradient);
  const Memory output_ = Poisoned(given_.query.size());
  const Memory sums_ = Poisoned(given_.log_sum_exps() * sizeof(float));
  const Memory query_gradient_ = Poisoned(given_.query.size());
  const Memory key_gradient_ = Poisoned(given_.key.size());
  const Memory value_gradient_ = Poisoned(given_.key.size());
};

// `every`: but each number whose index it divides; 0: of all.
double Error(const Numbers& found, const Numbers& expected, size_t every = 0) {
  double largest = 0.1;
  double worst = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    if (!std::isfinite(found[i])) return std::numeric_limits<double>::infinity();
    if (every != 0 && i % every == 0) continue;
    largest = std::max(largest, std::fabs(double{expected[i]}));
    worst = std::max(worst, std::fabs(double{found[i]} - expected[i]));
  }
  return worst / largest;
}

}  // namespace

AttentionShape NegativeScores::Shape() const {
  AttentionShape shape;
  shape.type = type;
  shape.query_heads = 4;
  shape.kv_heads = 2;
  shape.head_size = head_size;
  shape.scale = kScale;
  shape.sliding_window = sliding_window;
  return shape;
}

std::string NegativeScores::Text() const {
  return absl::StrCat(std::string(worker::ElementTypeName(type)), ", heads of ",
                      head_size, ", tokens ", begin, " to ", length, ", window ",
                      sliding_window, ", scores of ", score);
}

ScoreErrors ErrorsOf(worker::CudaRank& rank, const NegativeScores& of) {
  const Given given(of);
  const Results expected = OnProcessor(given);
  const Results found = OnDevice(rank, given).Computed();
  return {Error(found.output, expected.output),
          Error(found.log_sum_exp, expected.log_sum_exp),
          Error(found.query_gradient, expected.query_gradient, of.head_size),
          Error(found.key_gradient, expected.key_gradient),
          Error(found.value_gradient, expected.value_gradient)};
}

void ExpectSmall(const ScoreErrors& errors, const NegativeScores& of) {
  // What rounding makes of them, several times over.
  const double accepted = of.type == ElementType::kBfloat16 ? 2e-2 : 4e-3;
  EXPECT_LT(errors.output, accepted) << of.Text();
  EXPECT_LT(errors.log_sum_exp, 1e-3) << of.Text();
  EXPECT_LT(errors.query_gradient, accepted) << of.Text();
  EXPECT_LT(errors.key_gradient, 2 * accepted) << of.Text();
  EXPECT_LT(errors.value_gradient, accepted) << of.Text();
}

}  // namespace evenpack::testing
