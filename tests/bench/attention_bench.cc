// The CPU attention engine on one thread: floating-point operations a second, and their
// share of what BLAS reaches on a large product of matrices in the same run.
#include <benchmark/benchmark.h>
#include <cblas.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "gpu_worker/attention/cpu_attention.h"
#include "gpu_worker/reference/synthetic_tensor.h"

namespace evenpack::worker {
namespace {

// Operations a second of sgemm on matrices of 2,048 x 2,048, the best of five.
double SgemmRate() {
  constexpr int kSize = 2048;
  std::vector<float> a(kSize * kSize, 0.5F);
  std::vector<float> b(kSize * kSize, 0.25F);
  std::vector<float> c(kSize * kSize);
  openblas_set_num_threads(1);
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    const auto begun = std::chrono::steady_clock::now();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, kSize, kSize, kSize, 1,
                a.data(), kSize, b.data(), kSize, 0, c.data(), kSize);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    best = std::max(best, 2.0 * kSize * kSize * kSize / took.count());
  }
  return best;
}

// A document whose keys are all the rank's own.
class Document {
 public:
  Document(uint32_t tokens, ElementType type) {
    shape_.type = type;
    shape_.query_heads = 8;
    shape_.kv_heads = 2;
    shape_.head_size = 128;
    tasks_ = {{0, 0, tokens, 0, {{0, tokens, 0, false}}}};
    query_ = Tensor(TensorRole::kQuery, shape_.query_row());
    key_ = Tensor(TensorRole::kKey, shape_.kv_row());
    value_ = Tensor(TensorRole::kValue, shape_.kv_row());
    output_gradient_ = Tensor(TensorRole::kOutputGradient, shape_.query_row());
    output_.resize(query_.size());
    query_gradient_.resize(query_.size());
    log_sum_exp_.resize(size_t{tokens} * shape_.query_heads);
    key_gradient_.resize(size_t{tokens} * shape_.kv_row());
    value_gradient_.resize(key_gradient_.size());
    call_ = {shape_,
             tasks_,
             {query_.data(), shape_.query_row()},
             {key_.data(), shape_.kv_row()},
             {value_.data(), shape_.kv_row()},
             {},
             {}};
  }

  // Scores and the products with them, of the pairs that are seen.
  double ForwardOperations() const {
    const double tokens = tasks_[0].end;
    return 4.0 * shape_.head_size * shape_.query_heads * tokens * (tokens + 1) / 2;
  }

  void Forward(AttentionEngine& engine) {
    benchmark::DoNotOptimize(
        engine.Forward(call_, {{output_.data(), shape_.query_row()}, LogSumExp()}));
  }
  void Backward(AttentionEngine& engine) {
    benchmark::DoNotOptimize(
        engine.Backward(call_,
                        {{output_.data(), shape_.query_row()},
                         LogSumExp(),
                         {output_gradient_.data(), shape_.query_row()}},
                        {{query_gradient_.data(), shape_.query_row()},
                         {key_gradient_.data(), shape_.kv_row()},
                         {value_gradient_.data(), shape_.kv_row()},
                         {},
                         {}}));
  }

 private:
  FloatRows LogSumExp() { return {log_sum_exp_.data(), shape_.query_heads}; }
  std::vector<char> Tensor(TensorRole role, size_t row_size) const {
    const uint32_t tokens = tasks_[0].end;
    std::vector<char> bytes(tokens * row_size * BytesOf(shape_.type));
    std::vector<float> row(row_size);
    for (uint32_t token = 0; token < tokens; ++token) {
      FillSyntheticRow(1, role, 0, token, shape_.type, row);
      Store(shape_.type, row.data(), row_size,
            bytes.data() + token * row_size * BytesOf(shape_.type));
    }
    return bytes;
  }

  AttentionShape shape_;
  std::vector<AttentionTask> tasks_;
  AttentionCall call_;
  std::vector<char> query_;
  std::vector<char> key_;
  std::vector<char> value_;
  std::vector<char> output_;
  std::vector<char> output_gradient_;
  std::vector<char> query_gradient_;
  std::vector<float> log_sum_exp_;
  std::vector<float> key_gradient_;
  std::vector<float> value_gradient_;
};

void Count(benchmark::State& state, double operations, double sgemm) {
  const double done = operations * static_cast<double>(state.iterations());
  state.counters["flops"] = benchmark::Counter(done, benchmark::Counter::kIsRate);
  state.counters["of_sgemm"] =
      benchmark::Counter(done / sgemm, benchmark::Counter::kIsRate);
}

void BM_Forward(benchmark::State& state) {
  const double sgemm = SgemmRate();
  Document document(static_cast<uint32_t>(state.range(0)),
                    static_cast<ElementType>(state.range(1)));
  CpuAttention engine(1);
  for ([[maybe_unused]] auto _ : state) document.Forward(engine);
  Count(state, document.ForwardOperations(), sgemm);
}

// Five products where the forward pass has two.
void BM_Backward(benchmark::State& state) {
  const double sgemm = SgemmRate();
  Document document(static_cast<uint32_t>(state.range(0)),
                    static_cast<ElementType>(state.range(1)));
  CpuAttention engine(1);
  document.Forward(engine);
  for ([[maybe_unused]] auto _ : state) document.Backward(engine);
  Count(state, 2.5 * document.ForwardOperations(), sgemm);
}

void Cases(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"tokens", "type"})->Unit(benchmark::kMillisecond);
  for (const int64_t tokens : {128, 512, 2048, 8192}) benchmark->Args({tokens, 0});
  benchmark->Args({2048, static_cast<int64_t>(ElementType::kBfloat16)});
}
BENCHMARK(BM_Forward)->Apply(Cases);
BENCHMARK(BM_Backward)->Apply(Cases);

}  // namespace
}  // namespace evenpack::worker
