#include "gpu_worker/arena/arena.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;

FileDescriptor Copy(const Arena& arena) {
  return FileDescriptor(dup(arena.descriptor()));
}

TEST(ArenaTest, BothSidesSeeTheSameTensors) {
  const auto made = Arena::Create(1000);
  ASSERT_THAT(made, IsOk());
  const auto opened = Arena::Open(Copy(*made));
  ASSERT_THAT(opened, IsOk());
  EXPECT_EQ(opened->data_bytes(), 1000U);
  opened->data()[999] = 3;
  EXPECT_EQ(made->data()[999], 3);
  opened->slot(5).submission.step = 11;
  EXPECT_EQ(made->slot(5 + kRingSlots).submission.step, 11U);
}

TEST(ArenaTest, SizesThatNoArenaHasAreRefused) {
  for (const uint64_t bytes : {uint64_t{0}, kMaxArenaBytes + 1, ~uint64_t{0}}) {
    EXPECT_THAT(Arena::Create(bytes),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(absl::StrCat("arena_bytes: ", bytes))));
  }
}

TEST(ArenaTest, AnotherVersionIsRefused) {
  const auto made = Arena::Create(1000);
  ASSERT_THAT(made, IsOk());
  made->header().version = kArenaVersion + 1;
  EXPECT_THAT(Arena::Open(Copy(*made)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("version 4")));
}

TEST(ArenaTest, MemoryThatIsNoArenaIsRefused) {
  auto small = SharedMemory::Create(kDataOffset);
  ASSERT_THAT(small, IsOk());
  EXPECT_THAT(Arena::Open(FileDescriptor(dup(small->descriptor()))),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr(absl::StrCat("more than ", kDataOffset))));
  auto empty = SharedMemory::Create(kDataOffset + 64);
  ASSERT_THAT(empty, IsOk());
  EXPECT_THAT(Arena::Open(FileDescriptor(dup(empty->descriptor()))),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("version 0")));
}

// The trainer's process can write the header.
TEST(ArenaTest, ItsSizeIsThatOfItsMemory) {
  const auto made = Arena::Create(1000);
  ASSERT_THAT(made, IsOk());
  made->header().data_bytes = uint64_t{1} << 40;
  EXPECT_EQ(made->data_bytes(), 1000U);
  EXPECT_FALSE(Arena::Open(Copy(*made)).ok());
}

TEST(ArenaTest, AStatusComesBackAsItWas) {
  SubmissionResult result;
  for (const absl::Status& status :
       {absl::OkStatus(), absl::AbortedError("once more"), absl::InternalError("")}) {
    WriteResult(status, result);
    EXPECT_EQ(ReadResult(result), status);
  }
}

TEST(ArenaTest, ALongMessageIsCut) {
  SubmissionResult result;
  WriteResult(absl::InternalError(std::string(1000, 'x')), result);
  EXPECT_EQ(ReadResult(result),
            absl::InternalError(std::string(SubmissionResult::kMessageBytes, 'x')));
  result.message_size = 100'000;
  EXPECT_EQ(ReadResult(result).message().size(), SubmissionResult::kMessageBytes);
}

}  // namespace
}  // namespace evenpack::worker
