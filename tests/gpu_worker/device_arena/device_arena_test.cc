#include "gpu_worker/device_arena/device_arena.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>

#include "gpu_worker/attach/attach_client.h"
#include "gpu_worker/attach/attach_listener.h"
#include "tests/gpu_worker/attach/recorded_trainers.h"
#include "tests/gpu_worker/cuda/fake_device.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::RecordedTrainers;
using evenpack::testing::ScratchDirectory;
using evenpack::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

// The double's.
constexpr uint64_t kUnit = uint64_t{64} << 10;
constexpr uint64_t kMost = 4 * kUnit;

class DeviceArenaTest : public evenpack::testing::FakeDeviceTest {
 protected:
  // As another process has it.
  absl::StatusOr<Arena> Open(const Arena& arena) {
    return Arena::Open(FileDescriptor(dup(arena.descriptor())),
                       FileDescriptor(dup(arena.tensors_descriptor())),
                       MapOnDevice(driver_));
  }

  const std::shared_ptr<const CudaDriver> driver_ =
      CudaDriver::Load(EVENPACK_FAKE_CUDA).value();
  // Not the first: the trainer finds the one that is meant.
  const std::shared_ptr<const CudaContext> context_ =
      CudaContext::Open(driver_, 1).value();
};

TEST_F(DeviceArenaTest, BothSidesHaveTheRingAndTheDevicesTensors) {
  const auto made = CreateDeviceArena(context_, 100'000, kMost);
  ASSERT_THAT(made, IsOk());
  EXPECT_EQ(made->kind(), ArenaKind::kCuda);
  EXPECT_EQ(made->data_bytes(), 2 * kUnit);
  EXPECT_EQ(made->header().device, context_->Uuid().value());
  const auto opened = Open(*made);
  ASSERT_THAT(opened, IsOk());
  EXPECT_EQ(opened->data_bytes(), 2 * kUnit);
  EXPECT_TRUE(fakeCudaOwns(opened->data(), 2 * kUnit));
  opened->data()[2 * kUnit - 1] = 3;
  EXPECT_EQ(made->data()[2 * kUnit - 1], 3);
  opened->slot(5).submission.step = 11;
  EXPECT_EQ(made->slot(5).submission.step, 11U);
}

TEST_F(DeviceArenaTest, SizesThatNoArenaHasAreRefused) {
  for (const uint64_t bytes : {uint64_t{0}, kMaxArenaBytes + 1, ~uint64_t{0}}) {
    EXPECT_THAT(CreateDeviceArena(context_, bytes, ~uint64_t{0}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(absl::StrCat("arena_bytes: ", bytes))));
  }
  EXPECT_THAT(CreateDeviceArena(context_, kUnit + 1, 2 * kUnit - 1),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("arena_bytes: 65537 take 131072 of the device; "
                                 "accepted: up to 131071")));
}

TEST_F(DeviceArenaTest, TensorsOfAnotherDeviceOrSizeAreRefused) {
  const auto made = CreateDeviceArena(context_, kUnit, kMost);
  ASSERT_THAT(made, IsOk());
  made->header().data_bytes = 2 * kUnit;
  EXPECT_THAT(Open(*made), StatusIs(absl::StatusCode::kInvalidArgument,
                                    HasSubstr("to map 131072 bytes")));
  made->header().data_bytes = kUnit;
  made->header().device[0] = 0xff;
  EXPECT_THAT(Open(*made),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("UUID ff02")));
  EXPECT_EQ(made->data_bytes(), kUnit);
}

TEST_F(DeviceArenaTest, AnArenaOfTheOtherKindIsRefused) {
  const auto host = Arena::Create(1000);
  ASSERT_THAT(host, IsOk());
  EXPECT_THAT(Open(*host), StatusIs(absl::StatusCode::kInvalidArgument,
                                    HasSubstr("a ring of 136168 bytes")));
  const auto device = CreateDeviceArena(context_, kUnit, kMost);
  ASSERT_THAT(device, IsOk());
  EXPECT_THAT(Arena::Open(FileDescriptor(dup(device->descriptor()))),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("135168")));
}

TEST_F(DeviceArenaTest, ATrainerGetsBothDescriptorsAtOnce) {
  const ScratchDirectory folder;
  const std::string path = folder.File("attach.sock");
  RecordedTrainers trainers;
  const ArenaMaker arenas{ArenaKind::kCuda, kMost, [&](uint64_t bytes) {
                            return CreateDeviceArena(context_, bytes, kMost);
                          }};
  const auto listener = AttachListener::Start({path, geteuid(), arenas}, trainers);
  ASSERT_THAT(listener, IsOk());
  {
    const auto attached = Attach(path, 100'000, MapOnDevice(driver_));
    ASSERT_THAT(attached, IsOk());
    attached->arena().data()[5] = 42;
    EXPECT_EQ(trainers.arena()->data()[5], 42);
  }
  trainers.AwaitNone();
  EXPECT_THAT(Attach(path, kMost - 1, MapOnDevice(driver_)), IsOk());
  trainers.AwaitNone();
  EXPECT_THAT(Attach(path, kMost + 1, MapOnDevice(driver_)),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("262145"), HasSubstr("--memory"))));
}

}  // namespace
}  // namespace evenpack::worker
