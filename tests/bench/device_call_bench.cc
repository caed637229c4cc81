// What a pass on a device takes of the host beside cuDNN and the driver, of which there
// are doubles: plans that do nothing, and a device that is a thread. Of a rank alone,
// by slices.
//   device_call_bench
// Under `valgrind --tool=callgrind`, with --toggle-collect='*Executor::Forward*' and
// --benchmark_filter=Forward/60$, it counts the instructions of a thousand calls.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu_worker/communicator/local_group.h"
#include "gpu_worker/executor/executor.h"
#include "gpu_worker/selftest/device_tensors.h"
#include "gpu_worker/selftest/made_micro_batch.h"
#include "tests/gpu_worker/cudnn/rank_on_doubles.h"

namespace evenpack::worker {
namespace {

constexpr int64_t kCalls = 1000;
constexpr uint32_t kLength = 8;

class IdlePlan final : public AttentionPlan {
 public:
  size_t workspace_bytes() const override { return 1024; }
  absl::Status Run(const PlanTables&, const PlanTensors&, void*,
                   cuda::Stream) override {
    return absl::OkStatus();
  }
};

class IdlePlanner final : public AttentionPlanner {
 public:
  absl::StatusOr<std::unique_ptr<AttentionPlan>> Build(const PlanShape&) override {
    return std::make_unique<IdlePlan>();
  }
};

std::unique_ptr<CudaRank> OpenRank() {
  CudaRankOptions options = testing::RankOnDoubles();
  options.open_planner = [](std::shared_ptr<const CudaContext>) {
    return std::make_unique<IdlePlanner>();
  };
  return CudaRank::Open(options).value();
}

AttentionShape BenchShape() {
  AttentionShape shape;
  shape.type = ElementType::kBfloat16;
  shape.query_heads = 4;
  shape.kv_heads = 2;
  return shape;
}

void Run(benchmark::State& state, bool backward) {
  const std::vector<uint32_t> lengths(static_cast<size_t>(state.range(0)), kLength);
  const ShardPlan plan = Planned(Sharding::kContiguous, lengths, 1);
  const std::unique_ptr<CudaRank> rank = OpenRank();
  LocalGroup alone(1);
  Executor executor(alone.OfRank(0), rank->engine(), {.device = &rank->device()});
  const PreparedMicroBatch prepared = executor.Prepare(plan, BenchShape()).value();
  RankTensors made = MadeMicroBatch(BenchShape(), lengths, 1).OfRank(plan, 0);
  const auto tensors = DeviceTensors::Copy(made, rank->device()).value();
  for (auto _ : state) {
    const absl::Status status =
        backward ? executor.Backward(prepared, tensors->input(), tensors->result(),
                                     tensors->output_gradient(), tensors->gradients())
                 : executor.Forward(prepared, tensors->input(), tensors->result());
    if (!status.ok()) return state.SkipWithError(status.ToString().c_str());
  }
  rank->device().Finish().IgnoreError();
}

void Forward(benchmark::State& state) { Run(state, false); }
void Backward(benchmark::State& state) { Run(state, true); }
BENCHMARK(Forward)->Arg(1)->Arg(20)->Arg(60)->Arg(250)->Iterations(kCalls);
BENCHMARK(Backward)->Arg(1)->Arg(20)->Arg(60)->Arg(250)->Iterations(kCalls);

}  // namespace
}  // namespace evenpack::worker
