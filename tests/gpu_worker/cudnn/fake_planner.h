// Plans that compute by attention's definition, on the double of a device.
#ifndef EVENPACK_TESTS_GPU_WORKER_CUDNN_FAKE_PLANNER_H_
#define EVENPACK_TESTS_GPU_WORKER_CUDNN_FAKE_PLANNER_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpu_worker/cuda/cuda_context.h"
#include "gpu_worker/cudnn/attention_plan.h"
#include "gpu_worker/cudnn/plan_memory.h"
#include "tests/gpu_worker/cuda/fake_cuda.h"

namespace evenpack::testing {

// Of the device's time.
inline constexpr int64_t kFakeRunNanoseconds = 1'000'000;

// A run is put into the stream, and reads its tables when it is there.
class FakePlan final : public worker::AttentionPlan {
 public:
  FakePlan(std::shared_ptr<const worker::CudaContext> context,
           const worker::PlanShape& shape)
      : context_(std::move(context)), shape_(shape) {}

  static size_t WorkspaceBytes(const worker::PlanShape& shape) {
    constexpr size_t kOwn = 64;
    return FrontendBytes(shape) + kOwn;
  }

  size_t workspace_bytes() const override { return WorkspaceBytes(shape_); }
  absl::Status Run(const worker::PlanTables& tables, const worker::PlanTensors& tensors,
                   void* workspace, worker::cuda::Stream stream) override {
    CheckAlignment(tables, tensors, static_cast<char*>(workspace));
    const worker::CurrentContext current(*context_);
    const Launch launch = {shape_, tables, tensors};
    return context_->Check(
        fakeCudaLaunch(stream, &FakePlan::Launched, &launch, sizeof(launch)),
        "to run a plan");
  }

 private:
  struct Launch {
    worker::PlanShape shape;
    worker::PlanTables tables;
    worker::PlanTensors tensors;
  };
  static_assert(std::is_trivially_copyable_v<Launch>);

  // As cuDNN's frontend 1.32 counts: backward a float for each element of gradients of
  // queries, and of sums, in their rows; with several query heads to a KV head also for
  // each of gradients of keys and of values, in rows as much wider than theirs. Of the
  // last row what the run's heads have. What a plan itself takes begins there.
  static size_t FrontendBytes(const worker::PlanShape& shape) {
    if (shape.pass == Pass::kForward) return 0;
    const worker::AttentionShape& of = shape.attention;
    const int64_t row = static_cast<int64_t>(of.query_row());
    int64_t floats = (shape.all_queries - 1) * shape.query_stride + row +
                     (shape.all_queries - 1) * shape.log_sum_exp_stride +
                     of.query_heads;
    if (of.query_heads != of.kv_heads) {
      floats +=
          2 *
          ((shape.all_keys - 1) * shape.key_gradient_stride * of.group_size() + row);
    }
    return static_cast<size_t>(floats) * sizeof(float);
  }

  // Tensors as they are declared, what the engine hands out as a driver does.
  void CheckAlignment(const worker::PlanTables& tables,
                      const worker::PlanTensors& tensors, const char* workspace) const {
    Check(worker::kDeclaredAlignment, {{"query", tensors.query},
                                       {"key", tensors.key},
                                       {"value", tensors.value},
                                       {"output", tensors.output},
                                       {"output_gradient", tensors.output_gradient},
                                       {"query_gradient", tensors.query_gradient}});
    Check(shape_.pass == Pass::kForward ? worker::kForwardSumAlignment
                                        : worker::kDeclaredAlignment,
          {{"log_sum_exp", tensors.log_sum_exp}});
    Check(256, {{"query_lengths", tables.query_lengths},
                {"key_lengths", tables.key_lengths},
                {"query_offsets", tables.query_offsets},
                {"key_offsets", tables.key_offsets},
                {"log_sum_exp_offsets", tables.log_sum_exp_offsets},
                {"key_gradient_offsets", tables.key_gradient_offsets},
                {"key_gradient", tensors.key_gradient},
                {"value_gradient", tensors.value_gradient},
                {"workspace", workspace},
                {"own workspace", workspace + FrontendBytes(shape_)}});
  }
  static void Check(
      uintptr_t alignment,
      std::initializer_list<std::pair<const char*, const void*>> pointers) {
    for (const auto& [name, pointer] : pointers) {
      if (reinterpret_cast<uintptr_t>(pointer) % alignment == 0) continue;
      fakeCudaNote((std::string("a plan's run: not aligned: ") + name).c_str());
    }
  }

  static void Launched(const void* argument) {
    Launch launch;
    std::memcpy(&launch, argument, sizeof(launch));
    Compute(launch.shape, launch.tables, launch.tensors);
    fakeCudaPassTime(kFakeRunNanoseconds);
  }

  using Numbers = std::vector<float>;

  static Numbers Read(const worker::PlanShape& shape, const void* tensor, int64_t at) {
    const worker::AttentionShape& of = shape.attention;
    Numbers numbers(of.head_size);
    worker::Load(of.type,
                 static_cast<const char*>(tensor) +
                     at * static_cast<int64_t>(worker::BytesOf(of.type)),
                 of.head_size, numbers.data());
    return numbers;
  }
  static void Write(const worker::PlanShape& shape, const Numbers& numbers,
                    void* tensor, int64_t at) {
    const worker::AttentionShape& of = shape.attention;
    worker::Store(of.type, numbers.data(), numbers.size(),
                  static_cast<char*>(tensor) +
                      at * static_cast<int64_t>(worker::BytesOf(of.type)));
  }
  static float Dot(const Numbers& a, const Numbers& b) {
    float sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  }
  static void Add(const Numbers& from, float factor, Numbers& to) {
    for (size_t i = 0; i < to.size(); ++i) to[i] += factor * from[i];
  }

  // One sequence.
  struct Of {
    const worker::PlanShape& shape;
    const worker::PlanTables& tables;
    const worker::PlanTensors& tensors;
    size_t i;

    int64_t queries() const { return tables.query_lengths[i]; }
    int64_t keys() const { return tables.key_lengths[i]; }
    int64_t Query(int64_t row, int64_t head) const {
      return tables.query_offsets[i] + row * shape.query_stride +
             head * shape.attention.head_size;
    }
    int64_t Key(int64_t row, int64_t head) const {
      return tables.key_offsets[i] + row * shape.key_stride +
             head * shape.attention.head_size;
    }
    int64_t Gradient(int64_t row, int64_t head) const {
      return tables.key_gradient_offsets[i] + row * shape.key_gradient_stride +
             head * shape.attention.head_size;
    }
    float& LogSumExp(int64_t row, int64_t head) const {
      return tensors.log_sum_exp[tables.log_sum_exp_offsets[i] +
                                 row * shape.log_sum_exp_stride + head];
    }
    // Keys that the query sees: from first to last.
    std::pair<int64_t, int64_t> Seen(int64_t query) const {
      int64_t last = keys() - 1;
      if (shape.mask == worker::Mask::kCausal) last = query;
      if (shape.mask == worker::Mask::kLastAligned) last = keys() - queries() + query;
      const int64_t window = shape.attention.sliding_window;
      return {window == 0 ? 0 : std::max<int64_t>(0, last - window + 1), last};
    }
  };

  static void Compute(const worker::PlanShape& shape, const worker::PlanTables& tables,
                      const worker::PlanTensors& tensors) {
    for (size_t i = 0; i < static_cast<size_t>(shape.sequences); ++i) {
      const Of of{shape, tables, tensors, i};
      for (int64_t head = 0; head < shape.attention.kv_heads; ++head) {
        if (shape.pass == Pass::kForward) {
          Forward(of, head);
        } else {
          Backward(of, head);
        }
      }
    }
  }

  static void Forward(const Of& of, int64_t kv_head) {
    const int64_t group = of.shape.attention.group_size();
    for (int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
      for (int64_t row = 0; row < of.queries(); ++row) {
        const Numbers query = Read(of.shape, of.tensors.query, of.Query(row, head));
        const auto [first, last] = of.Seen(row);
        Numbers scores;
        float most = -std::numeric_limits<float>::infinity();
        for (int64_t key = first; key <= last; ++key) {
          scores.push_back(
              of.shape.attention.Scale() *
              Dot(query, Read(of.shape, of.tensors.key, of.Key(key, kv_head))));
          most = std::max(most, scores.back());
        }
        float sum = 0;
        Numbers output(query.size());
        for (int64_t key = first; key <= last; ++key) {
          const float weight =
              std::exp(scores[static_cast<size_t>(key - first)] - most);
          sum += weight;
          Add(Read(of.shape, of.tensors.value, of.Key(key, kv_head)), weight, output);
        }
        for (float& number : output) number /= sum;
        Write(of.shape, output, of.tensors.output, of.Query(row, head));
        of.LogSumExp(row, head) = most + std::log(sum);
      }
    }
  }

  static void Backward(const Of& of, int64_t kv_head) {
    const int64_t group = of.shape.attention.group_size();
    const size_t size = of.shape.attention.head_size;
    const auto keys = static_cast<size_t>(of.keys());
    std::vector<Numbers> key_gradients(keys, Numbers(size));
    std::vector<Numbers> value_gradients(keys, Numbers(size));
    for (int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
      for (int64_t row = 0; row < of.queries(); ++row) {
        const int64_t at = of.Query(row, head);
        const Numbers query = Read(of.shape, of.tensors.query, at);
        const Numbers gradient = Read(of.shape, of.tensors.output_gradient, at);
        const float all = Dot(gradient, Read(of.shape, of.tensors.output, at));
        const float scale = of.shape.attention.Scale();
        Numbers query_gradient(size);
        const auto [first, last] = of.Seen(row);
        for (int64_t k = first; k <= last; ++k) {
          const Numbers key = Read(of.shape, of.tensors.key, of.Key(k, kv_head));
          const Numbers value = Read(of.shape, of.tensors.value, of.Key(k, kv_head));
          const float weight =
              std::exp(scale * Dot(query, key) - of.LogSumExp(row, head));
          const float score = scale * weight * (Dot(gradient, value) - all);
          Add(gradient, weight, value_gradients[static_cast<size_t>(k)]);
          Add(query, score, key_gradients[static_cast<size_t>(k)]);
          Add(key, score, query_gradient);
        }
        Write(of.shape, query_gradient, of.tensors.query_gradient, at);
      }
    }
    for (int64_t k = 0; k < of.keys(); ++k) {
      const auto key = static_cast<size_t>(k);
      Write(of.shape, key_gradients[key], of.tensors.key_gradient,
            of.Gradient(k, kv_head));
      Write(of.shape, value_gradients[key], of.tensors.value_gradient,
            of.Gradient(k, kv_head));
    }
  }

  const std::shared_ptr<const worker::CudaContext> context_;
  const worker::PlanShape shape_;
};

class FakePlanner final : public worker::AttentionPlanner {
 public:
  // `built`: where it appends what it is asked for; it must outlive this.
  explicit FakePlanner(std::shared_ptr<const worker::CudaContext> context,
                       std::vector<worker::PlanShape>* built = nullptr)
      : context_(std::move(context)), built_(built) {}

  absl::StatusOr<std::unique_ptr<worker::AttentionPlan>> Build(
      const worker::PlanShape& shape) override {
    if (built_ != nullptr) built_->push_back(shape);
    return std::make_unique<FakePlan>(context_, shape);
  }

 private:
  const std::shared_ptr<const worker::CudaContext> context_;
  std::vector<worker::PlanShape>* const built_;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_CUDNN_FAKE_PLANNER_H_
