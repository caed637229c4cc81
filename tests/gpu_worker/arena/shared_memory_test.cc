#include "gpu_worker/arena/shared_memory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;

TEST(SharedMemoryTest, WhatOneMappingWritesAnotherReads) {
  const auto made = SharedMemory::Create(10000);
  ASSERT_THAT(made, IsOk());
  EXPECT_EQ(made->size(), 10000U);
  const auto mapped = SharedMemory::Map(FileDescriptor(dup(made->descriptor())));
  ASSERT_THAT(mapped, IsOk());
  EXPECT_EQ(mapped->size(), 10000U);
  EXPECT_NE(mapped->data(), made->data());
  made->data()[9999] = 7;
  EXPECT_EQ(mapped->data()[9999], 7);
  EXPECT_EQ(mapped->data()[0], 0);
}

TEST(SharedMemoryTest, NobodyCanChangeItsSize) {
  const auto made = SharedMemory::Create(4096);
  ASSERT_THAT(made, IsOk());
  EXPECT_NE(ftruncate(made->descriptor(), 100), 0);
  EXPECT_NE(ftruncate(made->descriptor(), 10000), 0);
}

TEST(SharedMemoryTest, MemoryWhoseSizeCanChangeIsRefused) {
  FileDescriptor loose(memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(loose.get(), 4096), 0);
  EXPECT_THAT(SharedMemory::Map(std::move(loose)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("sealed")));
  EXPECT_THAT(SharedMemory::Map(FileDescriptor(open("/dev/null", O_RDWR))),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("sealed")));
  EXPECT_THAT(SharedMemory::Map(FileDescriptor()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("sealed")));
}

TEST(SharedMemoryTest, MoreThanTheSystemHasIsRefused) {
  const auto made = SharedMemory::Create(size_t{1} << 60);
  EXPECT_FALSE(made.ok());
  EXPECT_THAT(made.status().message(), HasSubstr("1152921504606846976 bytes"));
}

}  // namespace
}  // namespace evenpack::worker
