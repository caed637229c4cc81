#include "gpu_worker/selftest/device_cases.h"

#include <algorithm>
#include <span>
#include <thread>
#include <utility>

#include "gpu_worker/cuda/device_group.h"
#include "gpu_worker/executor/executor.h"
#include "gpu_worker/selftest/device_tensors.h"

namespace evenpack::worker {
namespace {

// Of a rank, what it computes.
struct Results {
  RankTensors first;
  RankTensors last;
};
constexpr int kTimes = 3;

// Of many sizes, so that whatever is taken next is some of it: the largest as large as
// a backward run's workspace, in which are gradients of queries, and of eight ranks'
// keys and values for each of the heads of queries, in float32.
constexpr size_t kMostFilled = size_t{128} << 20;
constexpr size_t kLeastFilled = size_t{32} << 10;
constexpr size_t kOfQueries = 40;
constexpr unsigned char kOfNaNs = 0xff;

// What the rank's calls take from now on, and don't keep, holds NaNs. `queries`: bytes.
absl::Status FillFreeMemory(const CudaWorkplace& where, size_t queries) {
  const CurrentContext current(*where.context);
  std::vector<CudaBuffer> filled;
  const size_t most = std::clamp(kOfQueries * queries, size_t{1} << 20, kMostFilled);
  for (size_t bytes = most; bytes >= kLeastFilled; bytes /= 4) {
    absl::StatusOr<CudaBuffer> buffer = where.memory->Take(bytes, where.compute);
    if (!buffer.ok()) return buffer.status();
    absl::Status status =
        where.context->Check(where.context->functions().cuMemsetD8Async(
                                 reinterpret_cast<cuda::DevicePointer>(buffer->data()),
                                 kOfNaNs, bytes, where.compute),
                             "to fill memory");
    if (!status.ok()) return status;
    filled.push_back(*std::move(buffer));
  }
  return absl::OkStatus();
}

// Of ranks that failed, one that was not told so by another.
absl::Status CauseOf(std::span<const absl::Status> statuses) {
  absl::Status cause;
  for (const absl::Status& status : statuses) {
    const bool is_told = absl::IsAborted(status) || absl::IsUnavailable(status);
    if (!status.ok() && !is_told) return status;
    cause.Update(status);
  }
  return cause;
}

absl::Status RunRank(Communicator& communicator, CudaRank& rank, const ShardPlan& plan,
                     const SelftestCase& drawn, Results& results) {
  Executor executor(communicator, rank.engine(), {drawn.head_groups, &rank.device()});
  const auto prepared = executor.Prepare(plan, drawn.shape);
  if (!prepared.ok()) return prepared.status();
  const auto tensors = DeviceTensors::Copy(results.last, rank.device());
  if (!tensors.ok()) return tensors.status();
  absl::Status status;
  for (int i = 0; i < kTimes && status.ok(); ++i) {
    if (i > 0) status = (*tensors)->CopyAgain();
    if (status.ok()) status = FillFreeMemory(rank.where(), results.last.query.size());
    if (status.ok()) status = RunPasses(executor, *prepared, **tensors);
    if (status.ok() && i == 0) {
      status = (*tensors)->ReadBack();
      // What is computed begins as NaNs again.
      std::swap(results.first, results.last);
    }
  }
  return status.ok() ? (*tensors)->ReadBack() : status;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceCases>> DeviceCases::Open(
    const CudaRankOptions& options, uint32_t most_ranks) {
  std::unique_ptr<DeviceCases> cases(new DeviceCases(options.kernels));
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

size_t DeviceCases::graphs() const {
  size_t graphs = 0;
  for (const std::unique_ptr<CudaRank>& rank : ranks_) {
    graphs += rank->engine().graphs();
  }
  return graphs;
}

absl::StatusOr<AttentionErrors> DeviceCases::Run(const SelftestCase& drawn,
                                                 const MadeMicroBatch& made) {
  const ShardPlan plan = drawn.Plan();
  const uint32_t ranks = drawn.context_parallel;
  std::vector<Results> results;
  std::vector<CudaWorkplace> places;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    results.push_back({made.OfRank(plan, rank), made.OfRank(plan, rank)});
    places.push_back(ranks_[rank]->where());
  }
  const auto group = DeviceGroup::Create(std::move(places), {}, kernels_);
  if (!group.ok()) return group.status();
  std::vector<absl::Status> statuses(ranks);
  std::vector<std::thread> threads;
  threads.reserve(ranks);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      Communicator& communicator = (*group)->OfRank(rank);
      statuses[rank] = RunRank(communicator, *ranks_[rank], plan, drawn, results[rank]);
      // Its peers would wait for what it has left out.
      if (!statuses[rank].ok()) {
        communicator.Abort(absl::AbortedError(statuses[rank].message()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (absl::Status status = CauseOf(statuses); !status.ok()) return status;
  first_errors_ = {};
  last_errors_ = {};
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    first_errors_.Merge(made.Compare(plan, rank, results[rank].first));
    last_errors_.Merge(made.Compare(plan, rank, results[rank].last));
  }
  AttentionErrors errors = first_errors_;
  errors.Merge(last_errors_);
  return errors;
}

}  // namespace evenpack::worker
