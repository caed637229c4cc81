#include "gpu_worker/attach/attach_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>
#include <utility>

#include "gpu_worker/arena/arena.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;

class AttachMessageTest : public ::testing::Test {
 protected:
  AttachMessageTest() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    trainer_ = FileDescriptor(ends[0]);
    worker_ = FileDescriptor(ends[1]);
  }

  FileDescriptor trainer_;
  FileDescriptor worker_;
};

TEST_F(AttachMessageTest, ARequestArrivesAsItWasSent) {
  AttachRequest request;
  request.arena_bytes = 77;
  ASSERT_THAT(SendRequest(trainer_.get(), request), IsOk());
  const auto received = ReceiveRequest(worker_.get());
  ASSERT_THAT(received, IsOk());
  EXPECT_EQ(received->magic, kArenaMagic);
  EXPECT_EQ(received->arena_bytes, 77U);
}

TEST_F(AttachMessageTest, AReplyBringsADescriptorOfTheSameFile) {
  const auto memory = SharedMemory::Create(4096);
  ASSERT_THAT(memory, IsOk());
  AttachReply reply;
  reply.token[15] = 9;
  ASSERT_THAT(SendReply(worker_.get(), reply, {memory->descriptor()}), IsOk());
  auto received = ReceiveReply(trainer_.get());
  ASSERT_THAT(received, IsOk());
  EXPECT_EQ(received->reply.token, reply.token);
  EXPECT_NE(received->arena.get(), memory->descriptor());
  const auto mapped = SharedMemory::Map(std::move(received->arena));
  ASSERT_THAT(mapped, IsOk());
  memory->data()[7] = 1;
  EXPECT_EQ(mapped->data()[7], 1);
}

TEST_F(AttachMessageTest, AReplyBringsASecondOneForTensorsOfADevice) {
  auto ring = SharedMemory::Create(4096);
  auto tensors = SharedMemory::Create(8192);
  ASSERT_THAT(ring, IsOk());
  ASSERT_THAT(tensors, IsOk());
  ASSERT_THAT(SendReply(worker_.get(), {}, {ring->descriptor(), tensors->descriptor()}),
              IsOk());
  auto received = ReceiveReply(trainer_.get());
  ASSERT_THAT(received, IsOk());
  EXPECT_EQ(SharedMemory::Map(std::move(received->arena))->size(), 4096U);
  EXPECT_EQ(SharedMemory::Map(std::move(received->tensors))->size(), 8192U);
}

TEST_F(AttachMessageTest, ARefusalBringsNone) {
  AttachReply reply;
  WriteResult(absl::PermissionDeniedError("not you"), reply.result);
  ASSERT_THAT(SendReply(worker_.get(), reply, {}), IsOk());
  const auto received = ReceiveReply(trainer_.get());
  ASSERT_THAT(received, IsOk());
  EXPECT_EQ(received->arena.get(), -1);
  EXPECT_EQ(received->tensors.get(), -1);
  EXPECT_EQ(ReadResult(received->reply.result), absl::PermissionDeniedError("not you"));
}

std::atomic<int> signals = 0;

TEST_F(AttachMessageTest, SignalsAreNoEndOfTheOther) {
  struct sigaction before {};
  struct sigaction counting {};
  counting.sa_handler = [](int) { ++signals; };  // without SA_RESTART
  ASSERT_EQ(sigaction(SIGUSR1, &counting, &before), 0);
  AttachReply reply;
  WriteResult(absl::PermissionDeniedError("not you"), reply.result);
  absl::StatusOr<ReceivedReply> received = absl::UnknownError("nothing yet");
  std::thread trainer([this, &received] { received = ReceiveReply(trainer_.get()); });
  const auto* const bytes = reinterpret_cast<const char*>(&reply);
  ASSERT_EQ(write(worker_.get(), bytes, 8), 8);
  for (int left = 8; left > 0; std::this_thread::yield()) {
    ASSERT_EQ(ioctl(trainer_.get(), FIONREAD, &left), 0);
  }
  // One that comes as recv() begins may be handled only when the next interrupts it:
  // the thread sanitizer puts handlers off.
  for (; signals < 100; std::this_thread::yield()) {
    pthread_kill(trainer.native_handle(), SIGUSR1);
  }
  ASSERT_EQ(write(worker_.get(), bytes + 8, sizeof(reply) - 8), sizeof(reply) - 8);
  ASSERT_EQ(write(worker_.get(), "", 1), 1);
  trainer.join();
  sigaction(SIGUSR1, &before, nullptr);
  ASSERT_THAT(received, IsOk());
  EXPECT_EQ(ReadResult(received->reply.result), absl::PermissionDeniedError("not you"));
}

TEST_F(AttachMessageTest, OneThatIsGoneOrSaysTooLittleIsUnavailable) {
  const timeval patience{0, 1000};
  setsockopt(worker_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  ASSERT_EQ(write(trainer_.get(), "even", 4), 4);
  EXPECT_THAT(ReceiveRequest(worker_.get()),
              StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
  worker_ = FileDescriptor();
  EXPECT_THAT(ReceiveReply(trainer_.get()),
              StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
  EXPECT_THAT(SendRequest(trainer_.get(), {}),
              StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
}

}  // namespace
}  // namespace evenpack::worker
