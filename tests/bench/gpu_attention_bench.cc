// One rank's attention on a device: how long it takes beside cuDNN called directly on
// the same slices, how much of its exchanges shows at a network's speed, and what a
// call takes of the host. JSON, an object a line.
//   gpu_attention_bench LENGTHS [SLICES]
// SLICES: a file to write the slices of each case to, for gpu_attention_peers.py and
// gpu_attention_flash3.py.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gpu_worker/cudnn/cuda_rank.h"
#include "gpu_worker/cudnn/cudnn_planner.h"
#include "gpu_worker/cudnn/task_sequences.h"
#include "gpu_worker/executor/executor.h"
#include "server/core/cost/hardware_spec.h"
#include "server/core/cost/kernel_latency_table.h"
#include "server/core/sharding/plan_sharding.h"
#include "tests/bench/stand_in_group.h"

namespace evenpack::worker {
namespace {

constexpr uint32_t kHeadSize = 128;
// Between nodes, as wlb-llm has it: 400 Gb/s less what protocols take.
constexpr double kNetworkBytesPerSecond = 45e9;
constexpr size_t kBudget = size_t{96} << 30;

[[noreturn]] void Fail(const absl::Status& status) {
  std::fprintf(stderr, "gpu_attention_bench: %s\n", status.ToString().c_str());
  std::exit(1);
}
void Check(const absl::Status& status) {
  if (!status.ok()) Fail(status);
}
template <typename T>
T Value(absl::StatusOr<T> value) {
  if (!value.ok()) Fail(value.status());
  return *std::move(value);
}

double Seconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// A rank's tensors, filled with numbers like those of a network's layers.
class Tensors {
 public:
  Tensors(CudaRank& place, const AttentionShape& shape, uint64_t rows) : place_(place) {
    const size_t query = rows * shape.query_row();
    const size_t key = rows * shape.kv_row();
    for (const size_t count : {query, key, key, query, query, query, key, key}) {
      held_.push_back(Random(count));
    }
    log_sum_exp_ = Value(place.device().Allocate(rows * shape.query_heads * 4));
  }

  AttentionInput input() const { return {At(0), At(1), At(2)}; }
  const void* output_gradient() const { return At(3); }
  AttentionOutput result() const { return {At(4), log_sum_exp()}; }
  AttentionGradients gradients() const { return {At(5), At(6), At(7)}; }
  float* log_sum_exp() const { return static_cast<float*>(log_sum_exp_->data()); }

  std::unique_ptr<DeviceMemory> Random(size_t count) const {
    static const std::vector<uint16_t> numbers = [] {
      std::mt19937 random(1);
      std::normal_distribution<float> normal;
      std::vector<uint16_t> drawn(size_t{1} << 22);
      for (uint16_t& number : drawn) number = ToBfloat16(normal(random));
      return drawn;
    }();
    auto memory = Value(place_.device().Allocate(count * 2));
    for (size_t i = 0; i < count; i += numbers.size()) {
      Check(place_.device().CopyFromHost(numbers.data(),
                                         std::min(numbers.size(), count - i) * 2,
                                         static_cast<char*>(memory->data()) + i * 2));
    }
    return memory;
  }

 private:
  void* At(size_t i) const { return held_[i]->data(); }

  CudaRank& place_;
  std::vector<std::unique_ptr<DeviceMemory>> held_;
  std::unique_ptr<DeviceMemory> log_sum_exp_;
};

struct Times {
  double ms = 0;
  // Until the host has put a call into the stream, the median.
  double host_us = 0;
};

// Where few calls are ahead: of many, the driver makes the host wait.
double HostMicros(CudaRank& place, const std::function<void()>& call, int rounds) {
  constexpr int kAhead = 3;
  std::vector<double> micros;
  for (int i = 0; i < rounds; ++i) {
    for (int ahead = 0; ahead < kAhead; ++ahead) {
      const double begun = Seconds();
      call();
      micros.push_back((Seconds() - begun) * 1e6);
    }
    Check(place.device().Finish());
  }
  const auto middle = micros.begin() + static_cast<std::ptrdiff_t>(micros.size() / 2);
  std::nth_element(micros.begin(), middle, micros.end());
  return *middle;
}

// The mean over as many calls as fit into a short time.
Times Timed(CudaRank& place, const std::function<void()>& call) {
  for (int i = 0; i < 2; ++i) call();
  Check(place.device().Finish());
  double begun = Seconds();
  call();
  Check(place.device().Finish());
  const int calls = std::clamp(static_cast<int>(0.05 / (Seconds() - begun)), 4, 40);
  begun = Seconds();
  for (int i = 0; i < calls; ++i) call();
  Check(place.device().Finish());
  const double ms = (Seconds() - begun) / calls * 1e3;
  return {ms, HostMicros(place, call, calls / 2)};
}

struct Case {
  std::string name;
  std::vector<uint32_t> lengths;
  uint32_t query_heads = 32;
  uint32_t ranks = 1;
  Sharding sharding = Sharding::kPerDocument;
};

AttentionShape ShapeOf(const Case& of) {
  AttentionShape shape;
  shape.type = ElementType::kBfloat16;
  shape.query_heads = of.query_heads;
  shape.kv_heads = 8;
  shape.head_size = kHeadSize;
  return shape;
}

ShardPlan PlanOf(const Case& of) {
  ModelSpec model;
  model.name = "attention";
  model.layers = 1;
  model.hidden = of.query_heads * kHeadSize;
  model.query_heads = of.query_heads;
  model.kv_heads = 8;
  model.head_size = kHeadSize;
  model.ffn_size = 1;
  model.vocabulary = 1;
  const auto table =
      Value(KernelLatencyTable::FromTileModel(model, Value(NamedHardware("H200")), 1));
  HybridRule rule;
  // A key and a value of each head.
  rule.cut_token_ps =
      static_cast<int64_t>(2 * 8 * kHeadSize * 2 / kNetworkBytesPerSecond * 1e12);
  return Value(
      PlanSharding(of.sharding, of.lengths, of.ranks, /*pad_to=*/0, table, rule));
}

// Pairs of a query and a key that it sees.
double PairsOf(const std::vector<AttentionTask>& tasks) {
  double pairs = 0;
  for (const AttentionTask& task : tasks) {
    pairs += static_cast<double>(task.end - task.begin) *
             (static_cast<double>(task.begin) + task.end + 1) / 2;
  }
  return pairs;
}

// The rank with the most to compute.
uint32_t BusiestRank(const ShardPlan& plan, const AttentionShape& shape) {
  uint32_t busiest = 0;
  double most = 0;
  for (uint32_t rank = 0; rank < plan.context_parallel; ++rank) {
    const double pairs = PairsOf(LayOut(plan, rank, shape).tasks);
    if (pairs > most) busiest = rank;
    most = std::max(most, pairs);
  }
  return busiest;
}

// A plan of exactly the slices' size, on keys that lie together, in one run; of slices
// that begin their documents with the kernel that is faster for those. Gradients of
// keys are not added up.
class Direct {
 public:
  Direct(CudaRank& place, AttentionPlanner& planner, const AttentionShape& shape,
         const std::vector<AttentionTask>& tasks, Pass pass, const Tensors& tensors)
      : place_(place) {
    const bool are_whole =
        std::all_of(tasks.begin(), tasks.end(),
                    [](const AttentionTask& task) { return task.begin == 0; });
    std::vector<Sequence> sequences;
    int64_t keys = 0;
    for (const AttentionTask& task : tasks) {
      Sequence sequence;
      sequence.query_row = static_cast<int64_t>(task.query_row);
      sequence.queries = task.end - task.begin;
      sequence.keys = task.end;
      sequence.key_row = keys;
      sequence.key_gradient_row = keys;
      keys += sequence.keys;
      sequences.push_back(sequence);
    }
    PlanShape like;
    like.pass = pass;
    like.mask = are_whole ? Mask::kCausal : Mask::kLastAligned;
    like.attention = shape;
    like.query_stride = static_cast<int64_t>(shape.query_row());
    like.key_stride = static_cast<int64_t>(shape.kv_row());
    like.log_sum_exp_stride = shape.query_heads;
    if (pass == Pass::kBackward) like.key_gradient_stride = like.key_stride;
    const PlanShape needed = NeededFor(sequences, like);
    plan_ = Value(planner.Build(needed));
    const TableImage image(sequences, needed);
    tables_held_ = Value(place.device().Allocate(image.bytes().size()));
    Check(place.device().CopyFromHost(image.bytes().data(), image.bytes().size(),
                                      tables_held_->data()));
    tables_ = TablesAt(tables_held_->data(), needed);
    workspace_ = Value(place.device().Allocate(plan_->workspace_bytes()));
    const size_t numbers = static_cast<size_t>(keys) * shape.kv_row();
    key_ = tensors.Random(numbers);
    value_ = tensors.Random(numbers);
    tensors_.query = tensors.input().query;
    tensors_.key = key_->data();
    tensors_.value = value_->data();
    tensors_.output = tensors.result().output;
    tensors_.log_sum_exp = tensors.log_sum_exp();
    if (pass == Pass::kForward) return;
    tensors_.output_gradient = tensors.output_gradient();
    tensors_.query_gradient = tensors.gradients().query;
    key_gradient_ = Value(place.device().Allocate(numbers * 2));
    value_gradient_ = Value(place.device().Allocate(numbers * 2));
    tensors_.key_gradient = key_gradient_->data();
    tensors_.value_gradient = value_gradient_->data();
  }

  void Run() {
    Check(plan_->Run(tables_, tensors_, workspace_->data(), place_.where().compute));
  }

 private:
  CudaRank& place_;
  std::unique_ptr<AttentionPlan> plan_;
  PlanTables tables_;
  PlanTensors tensors_;
  std::unique_ptr<DeviceMemory> tables_held_;
  std::unique_ptr<DeviceMemory> workspace_;
  std::unique_ptr<DeviceMemory> key_;
  std::unique_ptr<DeviceMemory> value_;
  std::unique_ptr<DeviceMemory> key_gradient_;
  std::unique_ptr<DeviceMemory> value_gradient_;
};

// A rank's passes through an executor.
class Passes {
 public:
  Passes(CudaRank& place, AttentionEngine& engine, Communicator& communicator,
         const ShardPlan& plan, const AttentionShape& shape, const Tensors& tensors)
      : executor_(communicator, engine,
                  {.head_groups = 8,
                   .device = &place.device(),
                   .least_group_bytes = size_t{128} << 20}),
        prepared_(Value(executor_.Prepare(plan, shape))),
        tensors_(tensors) {}

  void Run(Pass pass) {
    if (pass == Pass::kForward) {
      Check(executor_.Forward(prepared_, tensors_.input(), tensors_.result()));
    } else {
      Check(executor_.Backward(prepared_, tensors_.input(), tensors_.result(),
                               tensors_.output_gradient(), tensors_.gradients()));
    }
  }

 private:
  Executor executor_;
  const PreparedMicroBatch prepared_;
  const Tensors& tensors_;
};

class Bench {
 public:
  explicit Bench(std::ofstream slices) : slices_(std::move(slices)) {
    CudaRankOptions options;
    options.budget = kBudget;
    place_ = Value(CudaRank::Open(options));
    planner_ = Value(OpenCudnn(place_->where().context));
  }

  void Run(const Case& of) {
    const AttentionShape shape = ShapeOf(of);
    const ShardPlan plan = PlanOf(of);
    const uint32_t rank = BusiestRank(plan, shape);
    const std::vector<AttentionTask> tasks = LayOut(plan, rank, shape).tasks;
    const uint64_t rows = HeldTokens(plan, rank);
    const Tensors tensors(*place_, shape, rows);
    const nlohmann::ordered_json named = {
        {"case", of.name},
        {"heads", std::to_string(of.query_heads) + ":8"},
        {"cp", of.ranks},
        {"sharding", of.ranks == 1                        ? "none"
                     : plan.sharding == Sharding::kHybrid ? "hybrid"
                                                          : "per_document"}};
    WriteSlices(named, tasks);
    for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
      nlohmann::ordered_json report = named;
      report["pass"] = pass == Pass::kForward ? "forward" : "backward";
      report["slices"] = tasks.size();
      report["tokens"] = rows;
      const double flops = 4 * PairsOf(tasks) * kHeadSize * of.query_heads *
                           (pass == Pass::kForward ? 1 : 2.5);
      NoExchange alone(rank, of.ranks);
      Passes computed(*place_, place_->engine(), alone, plan, shape, tensors);
      const Times compute = Timed(*place_, [&] { computed.Run(pass); });
      report["ms"] = compute.ms;
      report["tflops"] = flops / compute.ms / 1e9;
      report["host_us"] = compute.host_us;
      {
        Direct direct(*place_, *planner_, shape, tasks, pass, tensors);
        const Times times = Timed(*place_, [&] { direct.Run(); });
        report["cudnn_ms"] = times.ms;
        report["cudnn_host_us"] = times.host_us;
        report["to_cudnn"] = compute.ms / times.ms;
      }
      if (of.ranks > 1) {
        const auto source =
            tensors.Random(uint64_t{2} * plan.tokens() * shape.kv_row());
        const auto paced = Value(PacedExchange::Open(
            *place_, rank, of.ranks, source->data(), kNetworkBytesPerSecond));
        Passes exchanged(*place_, place_->engine(), *paced, plan, shape, tensors);
        const double ms = Timed(*place_, [&] { exchanged.Run(pass); }).ms;
        report["with_exchanges_ms"] = ms;
        report["exposed"] = (ms - compute.ms) / ms;
      }
      std::printf("%s\n", report.dump().c_str());
      std::fflush(stdout);
    }
  }

 private:
  void WriteSlices(nlohmann::ordered_json of, const std::vector<AttentionTask>& tasks) {
    for (const AttentionTask& task : tasks) {
      of["slices"].push_back({task.begin, task.end});
    }
    slices_ << of.dump() << std::endl;
  }

  std::ofstream slices_;
  std::unique_ptr<CudaRank> place_;
  std::unique_ptr<AttentionPlanner> planner_;
};

// Given lengths one after another, of which the last is cut.
std::vector<uint32_t> Packed(const std::vector<uint32_t>& lengths, size_t from,
                             uint32_t tokens) {
  std::vector<uint32_t> packed;
  for (size_t i = from; tokens > 0; ++i) {
    packed.push_back(std::min(lengths[i % lengths.size()], tokens));
    tokens -= packed.back();
  }
  return packed;
}

int Main(int argc, char** argv) {
  std::vector<uint32_t> lengths;
  if (argc == 2 || argc == 3) {
    std::ifstream file(argv[1]);
    for (uint32_t length = 0; file >> length;) lengths.push_back(length);
  }
  if (lengths.empty()) {
    std::fprintf(stderr, "usage: gpu_attention_bench LENGTHS [SLICES], files\n");
    return 2;
  }
  Bench bench(argc == 3 ? std::ofstream(argv[2]) : std::ofstream());
  for (const uint32_t query_heads : {32U, 64U}) {
    for (const auto& [name, packed] :
         {std::pair{"packed 32K", Packed(lengths, 0, 32768)},
          std::pair{"packed 128K", Packed(lengths, 40, 131072)},
          std::pair{"one of 128K", std::vector<uint32_t>{131072}}}) {
      if (query_heads == 64 && packed.size() < 20) continue;
      for (const uint32_t ranks : {1U, 2U, 4U, 8U}) {
        // Seconds a pass, and nothing that fewer tokens don't show.
        if (packed.size() == 1 && ranks < 4) continue;
        bench.Run({name, packed, query_heads, ranks,
                   ranks == 1 ? Sharding::kContiguous : Sharding::kPerDocument});
        if (ranks > 1 && packed.size() > 1) {
          bench.Run({name, packed, query_heads, ranks, Sharding::kHybrid});
        }
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace evenpack::worker

int main(int argc, char** argv) { return evenpack::worker::Main(argc, argv); }
