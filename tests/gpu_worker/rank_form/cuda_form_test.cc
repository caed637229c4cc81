#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu_worker/communicator/local_group.h"
#include "gpu_worker/executor/executor.h"
#include "gpu_worker/selftest/device_tensors.h"
#include "tests/gpu_worker/nccl/fake_group.h"
#include "tests/gpu_worker/rank_form/form_on_doubles.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::FakeNcclTest;
using evenpack::testing::FormOnDoubles;
using evenpack::testing::InThreads;
using evenpack::testing::IsOk;
using evenpack::testing::RankOnDoubles;
using evenpack::testing::StatusIs;
using evenpack::testing::StreamGate;
using ::testing::HasSubstr;

using CudaFormTest = FakeNcclTest;

TEST_F(CudaFormTest, PeersAreMetByNccl) {
  constexpr uint32_t kRanks = 3;
  std::vector<std::unique_ptr<RankForm>> forms;
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  std::vector<std::string> addresses;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    forms.push_back(FormOnDoubles(Timing()));
    endpoints.push_back(forms[rank]->Endpoints().value()(rank, kRanks).value());
    addresses.push_back(endpoints[rank]->address());
  }
  InThreads(kRanks, [&](uint32_t rank) {
    const auto connected = endpoints[rank]->Connect(addresses);
    ASSERT_THAT(connected, IsOk());
    EXPECT_EQ((*connected)->rank(), rank);
  });
}

TEST_F(CudaFormTest, ARankAloneNeedsNoNccl) {
  const auto form =
      OnCuda({.rank = RankOnDoubles(), .nccl = "/nowhere/libnccl.so.2"}).value();
  EXPECT_EQ(form->cuda_device(), 0);
  EXPECT_THAT(form->Endpoints().status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("/nowhere/libnccl.so.2: cannot open")));
  AttentionShape shape;
  shape.type = ElementType::kBfloat16;
  const MadeMicroBatch made(shape, {40, 1, 9}, 3);
  const ShardPlan plan = Planned(Sharding::kPerDocument, made.lengths(), 1, 8);
  LocalGroup alone(1);
  Executor executor(alone.OfRank(0), form->engine(), {1, &form->device()});
  const PreparedMicroBatch prepared = executor.Prepare(plan, shape).value();
  RankTensors tensors = made.OfRank(plan, 0);
  const auto on_device = DeviceTensors::Copy(tensors, form->device()).value();
  ASSERT_THAT(RunPasses(executor, prepared, *on_device), IsOk());
  ASSERT_THAT(on_device->ReadBack(), IsOk());
  EXPECT_LT(made.Compare(plan, 0, tensors).Largest(), AcceptedError(shape.type));
}

TEST_F(CudaFormTest, WhatItIsGivenWaitsForTheTrainersStream) {
  const auto form = FormOnDoubles(Timing());
  const auto context =
      CudaContext::Open(CudaDriver::Load(EVENPACK_FAKE_CUDA).value(), 0);
  ASSERT_THAT(context, IsOk());
  const auto trainer =
      CudaStream::Create(*context, CudaStream::Priority::kLeast).value();
  const auto memory = form->device().Allocate(1).value();
  StreamGate gate;
  gate.Close(**context, trainer->handle());
  EXPECT_THAT(form->After(trainer->handle()), IsOk());
  EXPECT_THAT(form->device().Zero(memory->data(), 1, 1, 1), IsOk());
  EXPECT_THAT(form->Before(trainer->handle()), IsOk());
  const auto after = CudaEvent::Create(*context).value();
  EXPECT_THAT(after->Record(trainer->handle()), IsOk());
  EXPECT_FALSE(after->IsReached().value());
  gate.Open();
  EXPECT_THAT(after->Await(), IsOk());
  EXPECT_EQ(*static_cast<const char*>(memory->data()), 0);
}

}  // namespace
}  // namespace evenpack::worker
