#include "gpu_worker/selftest/device_cases.h"

#include <thread>
#include <utility>

#include "gpu_worker/cuda/device_group.h"
#include "gpu_worker/executor/executor.h"
#include "gpu_worker/selftest/device_tensors.h"

namespace evenpack::worker {
namespace {

absl::Status RunRank(Communicator& communicator, CudaRank& rank, const ShardPlan& plan,
                     const SelftestCase& drawn, RankTensors& tensors) {
  Executor executor(communicator, rank.engine(), {drawn.head_groups, &rank.device()});
  const auto prepared = executor.Prepare(plan, drawn.shape);
  if (!prepared.ok()) return prepared.status();
  const auto on_device = DeviceTensors::Copy(tensors, rank.device());
  if (!on_device.ok()) return on_device.status();
  absl::Status status =
      executor.Forward(*prepared, (*on_device)->input(), (*on_device)->result());
  if (status.ok()) {
    status =
        executor.Backward(*prepared, (*on_device)->input(), (*on_device)->result(),
                          (*on_device)->output_gradient(), (*on_device)->gradients());
  }
  return status.ok() ? (*on_device)->ReadBack() : status;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceCases>> DeviceCases::Open(
    const CudaRankOptions& options, uint32_t most_ranks) {
  auto cases = std::make_unique<DeviceCases>();
  for (uint32_t rank = 0; rank < most_ranks; ++rank) {
    absl::StatusOr<std::unique_ptr<CudaRank>> opened = CudaRank::Open(options);
    if (!opened.ok()) return opened.status();
    cases->ranks_.push_back(*std::move(opened));
  }
  return cases;
}

CaseRunner DeviceCases::Runner() {
  return [this](const SelftestCase& drawn, const MadeMicroBatch& made) {
    return Run(drawn, made);
  };
}

absl::StatusOr<AttentionErrors> DeviceCases::Run(const SelftestCase& drawn,
                                                 const MadeMicroBatch& made) {
  const ShardPlan plan = drawn.Plan();
  const uint32_t ranks = drawn.context_parallel;
  std::vector<RankTensors> tensors;
  std::vector<CudaWorkplace> places;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    tensors.push_back(made.OfRank(plan, rank));
    places.push_back(ranks_[rank]->where());
  }
  const auto group = DeviceGroup::Create(std::move(places));
  if (!group.ok()) return group.status();
  std::vector<absl::Status> statuses(ranks);
  std::vector<std::thread> threads;
  threads.reserve(ranks);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      statuses[rank] =
          RunRank((*group)->OfRank(rank), *ranks_[rank], plan, drawn, tensors[rank]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& status : statuses) {
    if (!status.ok()) return status;
  }
  return made.Compare(plan, tensors);
}

}  // namespace evenpack::worker
