#include "gpu_worker/cudnn/cuda_rank.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "gpu_worker/cuda/cuda_graph.h"
#include "tests/gpu_worker/cudnn/rank_on_doubles.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::RankOnDoubles;
using evenpack::testing::StatusIs;
using evenpack::testing::StreamGate;
using ::testing::HasSubstr;

class CudaRankTest : public evenpack::testing::FakeDeviceTest {
 protected:
  const CudaRankOptions options_ = RankOnDoubles();
};

TEST_F(CudaRankTest, ItsPartsComputeInOneStreamOfTheDevice) {
  const auto rank = CudaRank::Open(options_);
  ASSERT_THAT(rank, IsOk());
  EXPECT_EQ((*rank)->where().context->device(), 0);
  EXPECT_EQ((*rank)->engine().key_placement(), KeyPlacement::kTogether);
  const auto memory = (*rank)->device().Allocate(1000);
  ASSERT_THAT(memory, IsOk());
  EXPECT_GE((*rank)->where().memory->bytes_in_use(), 1000U);
}

TEST_F(CudaRankTest, CallsComeBetweenWhatTheTrainersStreamDoes) {
  const auto rank = CudaRank::Open(options_).value();
  const auto& context = rank->where().context;
  const auto trainer =
      CudaStream::Create(context, CudaStream::Priority::kLeast).value();
  const auto before = CudaEvent::Create(context).value();
  const auto after = CudaEvent::Create(context).value();
  StreamGate gate;
  gate.Close(*context, trainer->handle());
  EXPECT_THAT(rank->After(trainer->handle()), IsOk());
  EXPECT_THAT(before->Record(rank->where().compute), IsOk());
  EXPECT_THAT(rank->Before(trainer->handle()), IsOk());
  EXPECT_THAT(after->Record(trainer->handle()), IsOk());
  EXPECT_FALSE(before->IsReached().value());
  gate.Open();
  EXPECT_THAT(after->Await(), IsOk());
  EXPECT_TRUE(before->IsReached().value());
}

TEST_F(CudaRankTest, AStreamThatTheTrainerCapturesIsRefused) {
  const auto rank = CudaRank::Open(options_).value();
  const auto& context = rank->where().context;
  const auto trainer =
      CudaStream::Create(context, CudaStream::Priority::kLeast).value();
  EXPECT_THAT(CudaGraph::Capture(context, trainer->handle(),
                                 [&] { return rank->After(trainer->handle()); })
                  .status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("is being captured for a CUDA graph; accepted: ")));
  EXPECT_THAT(rank->After(trainer->handle()), IsOk());
}

TEST_F(CudaRankTest, WhatIsNotThereIsSaid) {
  CudaRankOptions none = options_;
  none.driver = "/nowhere/libcuda.so.1";
  EXPECT_THAT(CudaRank::Open(none).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("/nowhere/libcuda.so.1: cannot open")));
  none = options_;
  none.device = 99;
  EXPECT_THAT(CudaRank::Open(none).status(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("99")));
  none = options_;
  none.open_planner = [](std::shared_ptr<const CudaContext>) {
    return absl::FailedPreconditionError("there is no cuDNN");
  };
  EXPECT_THAT(CudaRank::Open(none).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, "there is no cuDNN"));
}

}  // namespace
}  // namespace evenpack::worker
