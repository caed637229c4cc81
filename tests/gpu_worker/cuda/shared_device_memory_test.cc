#include "gpu_worker/cuda/shared_device_memory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/gpu_worker/cuda/fake_device.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::FakeDevice;
using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;

// The double's.
constexpr size_t kUnit = size_t{64} << 10;

class SharedDeviceMemoryTest : public evenpack::testing::FakeDeviceTest {
 protected:
  static FileDescriptor Copy(const SharedDeviceMemory& memory) {
    return FileDescriptor(dup(memory.descriptor()));
  }

  FakeDevice device_;
};

TEST_F(SharedDeviceMemoryTest, BothMappingsHaveTheSameBytes) {
  const auto made = SharedDeviceMemory::Create(device_.context(), 100'000);
  ASSERT_THAT(made, IsOk());
  EXPECT_EQ((*made)->size(), 2 * kUnit);
  EXPECT_TRUE(fakeCudaOwns((*made)->data(), 2 * kUnit));
  const auto imported =
      SharedDeviceMemory::Import(device_.context(), Copy(**made), 2 * kUnit);
  ASSERT_THAT(imported, IsOk());
  EXPECT_EQ((*imported)->descriptor(), -1);
  ASSERT_NE((*imported)->data(), (*made)->data());
  static_cast<char*>((*imported)->data())[2 * kUnit - 1] = 42;
  EXPECT_EQ(static_cast<char*>((*made)->data())[2 * kUnit - 1], 42);
}

TEST_F(SharedDeviceMemoryTest, ItStaysWhereItIsImportedWhenItsMakerIsGone) {
  auto made = SharedDeviceMemory::Create(device_.context(), kUnit).value();
  static_cast<char*>(made->data())[7] = 1;
  const auto imported =
      SharedDeviceMemory::Import(device_.context(), Copy(*made), kUnit);
  ASSERT_THAT(imported, IsOk());
  made.reset();
  EXPECT_EQ(static_cast<char*>((*imported)->data())[7], 1);
}

TEST_F(SharedDeviceMemoryTest, SizesThatNoDeviceHasAreRefused) {
  EXPECT_THAT(SharedDeviceMemory::Create(device_.context(), 0).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("bytes: 0")));
  EXPECT_THAT(SharedDeviceMemory::Create(device_.context(), ~size_t{0}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("bytes")));
  fakeCudaSetMemory(kUnit);
  EXPECT_THAT(SharedDeviceMemory::Create(device_.context(), kUnit + 1).status(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("to give 131072 bytes to share")));
}

TEST_F(SharedDeviceMemoryTest, ADescriptorOfAnotherFileOrSizeIsRefused) {
  const auto made = SharedDeviceMemory::Create(device_.context(), kUnit).value();
  EXPECT_THAT(
      SharedDeviceMemory::Import(device_.context(), Copy(*made), 2 * kUnit).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("to map 131072 bytes")));
  const FileDescriptor other(open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_THAT(SharedDeviceMemory::Import(device_.context(), other, kUnit).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("accepted: a descriptor of as much memory")));
  EXPECT_THAT(
      SharedDeviceMemory::Import(device_.context(), FileDescriptor(), kUnit).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("descriptor -1")));
}

}  // namespace
}  // namespace evenpack::worker
