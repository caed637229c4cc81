#include "tests/gpu_worker/cudnn/negative_scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/attention/cpu_attention.h"
#include "gpu_worker/attention/element_type.h"
#include "gpu_worker/device/column_sums.h"
#include "gpu_worker/device/device.h"
#include "gpu_worker/device/key_gradients.h"
#include "gpu_worker/selftest/device_tensors.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::testing {
namespace {

using worker::AttentionCall;
using worker::AttentionShape;
using worker::AttentionTask;
using worker::BackwardResult;
using worker::BytesOf;
using worker::DeviceTensors;
using worker::ElementType;
using worker::FloatRows;
using worker::RankTensors;

using Bytes = std::vector<char>;
using Numbers = std::vector<float>;

// The first number of each query's heads, so that the first of a key's is the score.
constexpr float kFirst = 8;
constexpr float kScale = 1 / kFirst;
// Of any type's numbers a NaN.
constexpr char kPoison = '\xff';

class Given {
 public:
  explicit Given(const NegativeScores& of)
      : shape(of.Shape()),
        queries(of.length - of.begin),
        first_key(shape.FirstKey(of.begin)),
        keys(of.length - first_key),
        random_(of.length + of.begin) {
    tensors.query = Rows(queries, shape.query_heads, kFirst);
    tensors.key = Rows(keys, shape.kv_heads, of.score);
    tensors.value = Rows(keys, shape.kv_heads, 0);
    tensors.output_gradient = Rows(queries, shape.query_heads, 0);
    for (Bytes* const of_queries : {&tensors.output, &tensors.query_gradient}) {
      of_queries->assign(tensors.query.size(), kPoison);
    }
    for (Bytes* const of_keys : {&tensors.key_gradient, &tensors.value_gradient}) {
      of_keys->assign(tensors.key.size(), kPoison);
    }
    tensors.log_sum_exp.assign(size_t{queries} * shape.query_heads,
                               std::numeric_limits<float>::quiet_NaN());
    tasks_ = {{0,
               of.begin,
               of.length,
               0,
               {{first_key, keys, /*row=*/0, /*received=*/false}}}};
  }

  AttentionCall Call(const worker::AttentionInput& input) const {
    AttentionCall call;
    call.shape = shape;
    call.tasks = tasks_;
    call.query = {input.query, shape.query_row()};
    call.own_key = {input.key, shape.kv_row()};
    call.own_value = {input.value, shape.kv_row()};
    return call;
  }

  const AttentionShape shape;
  const uint32_t queries;
  // The first one that the window shows, and how many.
  const uint32_t first_key;
  const uint32_t keys;
  // What is computed: no numbers.
  RankTensors tensors;

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

Results ResultsOf(const AttentionShape& shape, const RankTensors& tensors) {
  return {Loaded(shape.type, tensors.output), tensors.log_sum_exp,
          Loaded(shape.type, tensors.query_gradient),
          Loaded(shape.type, tensors.key_gradient),
          Loaded(shape.type, tensors.value_gradient)};
}

Results OnProcessor(const Given& given) {
  const AttentionShape& shape = given.shape;
  // The device is held meanwhile.
  worker::CpuAttention engine(std::max(1U, std::thread::hardware_concurrency()));
  RankTensors tensors = given.tensors;
  const AttentionCall call = given.Call(tensors.input());
  const FloatRows sums = {tensors.log_sum_exp.data(), shape.query_heads};
  EXPECT_THAT(engine.Forward(call, {{tensors.output.data(), shape.query_row()}, sums}),
              IsOk());
  Numbers key_gradient(given.keys * shape.kv_row());
  Numbers value_gradient(key_gradient.size());
  BackwardResult into;
  into.query_gradient = {tensors.query_gradient.data(), shape.query_row()};
  into.own_key_gradient = {key_gradient.data(), shape.kv_row()};
  into.own_value_gradient = {value_gradient.data(), shape.kv_row()};
  EXPECT_THAT(engine.Backward(call,
                              {{tensors.output.data(), shape.query_row()},
                               sums,
                               {tensors.output_gradient.data(), shape.query_row()}},
                              into),
              IsOk());
  Results results = ResultsOf(shape, tensors);
  results.key_gradient = std::move(key_gradient);
  results.value_gradient = std::move(value_gradient);
  return results;
}

void SumKeyGradients(const std::vector<worker::KeyGradients>& left, const Given& given,
                     const worker::AttentionGradients& into, worker::Device& device) {
  const size_t row = given.shape.kv_row();
  std::vector<worker::ColumnTerm> terms;
  AppendTerms(left, 0, row, terms);
  EXPECT_THAT(SumColumns(terms,
                         {given.shape.type,
                          {into.key, into.value},
                          row * BytesOf(given.shape.type),
                          row,
                          given.keys},
                         device),
              IsOk());
}

Results OnDevice(worker::CudaRank& rank, const Given& given) {
  const AttentionShape& shape = given.shape;
  RankTensors tensors = given.tensors;
  const auto held = DeviceTensors::Copy(tensors, rank.device()).value();
  const AttentionCall call = given.Call(held->input());
  const worker::AttentionOutput output = held->result();
  const FloatRows sums = {output.log_sum_exp, shape.query_heads};
  EXPECT_THAT(rank.engine().Forward(call, {{output.output, shape.query_row()}, sums}),
              IsOk());
  std::vector<worker::KeyGradients> left;
  BackwardResult into;
  into.query_gradient = {held->gradients().query, shape.query_row()};
  into.key_gradients = &left;
  EXPECT_THAT(rank.engine().Backward(call,
                                     {{output.output, shape.query_row()},
                                      sums,
                                      {held->output_gradient(), shape.query_row()}},
                                     into),
              IsOk());
  SumKeyGradients(left, given, held->gradients(), rank.device());
  EXPECT_THAT(held->ReadBack(), IsOk());
  return ResultsOf(shape, tensors);
}

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

worker::AttentionErrors ErrorsOf(worker::CudaRank& rank, const NegativeScores& of) {
  const Given given(of);
  const Results expected = OnProcessor(given);
  const Results found = OnDevice(rank, given);
  return {Error(found.output, expected.output),
          Error(found.log_sum_exp, expected.log_sum_exp),
          Error(found.query_gradient, expected.query_gradient, of.head_size),
          Error(found.key_gradient, expected.key_gradient),
          Error(found.value_gradient, expected.value_gradient)};
}

void ExpectSmall(const worker::AttentionErrors& errors, const NegativeScores& of) {
  // What rounding makes of them, several times over.
  const double accepted = of.type == ElementType::kBfloat16 ? 2e-2 : 4e-3;
  EXPECT_LT(errors.output, accepted) << of.Text();
  EXPECT_LT(errors.log_sum_exp, 1e-3) << of.Text();
  EXPECT_LT(errors.query_gradient, accepted) << of.Text();
  EXPECT_LT(errors.key_gradient, 2 * accepted) << of.Text();
  EXPECT_LT(errors.value_gradient, accepted) << of.Text();
}

}  // namespace evenpack::testing
