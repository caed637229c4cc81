// A rank that executes steps of one micro-batch, over connections that break when a
// test wants it.
#ifndef EVENPACK_TESTS_GPU_WORKER_STEPS_EXECUTING_RANK_H_
#define EVENPACK_TESTS_GPU_WORKER_STEPS_EXECUTING_RANK_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gpu_worker/attention/cpu_attention.h"
#include "gpu_worker/selftest/made_micro_batch.h"
#include "gpu_worker/steps/group_executor.h"
#include "server/runtime/clock.h"
#include "tests/gpu_worker/rendezvous/meeting_place.h"
#include "tests/gpu_worker/rendezvous/table_member.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::testing {

inline worker::AttentionShape SmallShape() {
  worker::AttentionShape shape;
  shape.query_heads = 2;
  shape.head_size = 64;
  return shape;
}

// Of the one micro-batch of a step.
inline constexpr uint32_t kIndex = 7;

// A rank, whose connections break before the exchanges that a test names.
class ExecutingRank {
 public:
  ExecutingRank(GroupTable& table, MeetingPlace& place, uint32_t ranks, uint32_t rank,
                const std::string& name, std::function<bool()> breaks = {},
                const Clock& clock = Clock::Steady())
      : rank_(rank),
        options_{.clock = &clock},
        rendezvous_(
            std::make_unique<TableMember>(table, GroupSeat{0, ranks, rank, name}),
            [&place, rank, breaks = std::move(breaks)] {
              return absl::StatusOr<std::unique_ptr<worker::Endpoint>>(
                  place.Open(rank, breaks));
            }) {}

  worker::GroupExecutor& executor() { return executor_; }
  // Of steps that were executed, in order.
  const std::vector<std::pair<uint64_t, worker::StepTimes>>& executed() const {
    return executed_;
  }
  worker::GroupRendezvous& rendezvous() { return rendezvous_; }

  // The passes of a step of one micro-batch, and whether they computed what they must.
  absl::Status Compute(uint64_t step, const worker::MadeMicroBatch& made,
                       const ShardPlan& plan) {
    if (absl::Status status = executor_.BeginStep(step); !status.ok()) return status;
    worker::PreparedMicroBatch prepared =
        worker::PrepareMicroBatch(plan, rank_, SmallShape());
    prepared.index = kIndex;
    worker::RankTensors tensors = made.OfRank(plan, rank_);
    absl::Status status =
        executor_.Forward(prepared, tensors.input(), tensors.result());
    if (!status.ok()) return status;
    status = executor_.Backward(prepared, tensors.input(), tensors.result(),
                                tensors.output_gradient.data(), tensors.gradients());
    if (!status.ok()) return status;
    EXPECT_LT(made.Compare(plan, rank_, tensors).Largest(),
              worker::AcceptedError(worker::ElementType::kFloat32));
    return absl::OkStatus();
  }
  // All of a step, as often as it takes; how often.
  int Execute(uint64_t step, const worker::MadeMicroBatch& made,
              const ShardPlan& plan) {
    for (int attempt = 1;; ++attempt) {
      absl::Status status = Compute(step, made, plan);
      if (status.ok()) status = executor_.EndStep();
      if (status.ok()) return attempt;
      EXPECT_THAT(status,
                  StatusIs(absl::StatusCode::kAborted,
                           ::testing::HasSubstr(absl::StrCat("step ", step, " "))));
      if (!absl::IsAborted(status)) return attempt;
    }
  }

 private:
  const uint32_t rank_;
  const worker::ExecutorOptions options_;
  worker::GroupRendezvous rendezvous_;
  worker::CpuAttention engine_{1};
  std::vector<std::pair<uint64_t, worker::StepTimes>> executed_;
  worker::GroupExecutor executor_{
      rendezvous_, engine_, options_,
      [this](uint64_t step, const worker::StepTimes& times) {
        executed_.emplace_back(step, times);
      }};
};

// body(rank), each in a thread.
inline void InThreads(uint32_t ranks, const std::function<void(uint32_t)>& body) {
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < ranks; ++rank) threads.emplace_back(body, rank);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_STEPS_EXECUTING_RANK_H_
