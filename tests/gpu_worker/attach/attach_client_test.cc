#include "gpu_worker/attach/attach_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <stop_token>
#include <thread>

#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::ScratchDirectory;
using evenpack::testing::StatusIs;
using ::testing::_;
using ::testing::AllOf;
using ::testing::HasSubstr;

// What a trainer has of a worker that answers so.
absl::Status AttachTo(const AttachReply& reply, int descriptor) {
  const ScratchDirectory folder;
  const std::string path = folder.File("attach.sock");
  const auto listening = ListenAt(path, 0600);
  EXPECT_THAT(listening, IsOk());
  std::thread worker([&] {
    const FileDescriptor connection(accept(listening->get(), nullptr, nullptr));
    EXPECT_THAT(ReceiveRequest(connection.get()), IsOk());
    EXPECT_THAT(SendReply(connection.get(), reply, {descriptor}), IsOk());
  });
  const absl::Status status = Attach(path, 1000).status();
  worker.join();
  return status;
}

TEST(AttachClientTest, ARefusalIsTheWorkersOwn) {
  AttachReply reply;
  WriteResult(absl::ResourceExhaustedError("too much"), reply.result);
  EXPECT_EQ(AttachTo(reply, -1), absl::ResourceExhaustedError("too much"));
}

// As of another user's worker, which refuses whatever it would be asked: some of these
// connections end before a request is sent.
TEST(AttachClientTest, ARefusalCountsThoughTheWorkerIsGoneBeforeItIsAsked) {
  const ScratchDirectory folder;
  const std::string path = folder.File("attach.sock");
  const auto listening = ListenAt(path, 0600);
  ASSERT_THAT(listening, IsOk());
  constexpr int kTimes = 500;
  std::thread worker([&] {
    AttachReply reply;
    WriteResult(absl::PermissionDeniedError("not you"), reply.result);
    for (int i = 0; i < kTimes; ++i) {
      const FileDescriptor connection(accept(listening->get(), nullptr, nullptr));
      EXPECT_THAT(SendReply(connection.get(), reply, {}), IsOk());
    }
  });
  for (int i = 0; i < kTimes; ++i) {
    EXPECT_EQ(Attach(path, 1000).status(), absl::PermissionDeniedError("not you"));
  }
  worker.join();
}

TEST(AttachClientTest, AReplyWithoutAnArenaIsRefused) {
  EXPECT_THAT(AttachTo({}, -1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("arena")));
  EXPECT_THAT(AttachTo({}, 0),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("arena")));
}

// As one that is stopped, or ends another trainer's session.
TEST(AttachClientTest, OneThatDoesNotAnswerIsWaitedForAsLongAsItMayTake) {
  const ScratchDirectory folder;
  const std::string path = folder.File("attach.sock");
  const auto listening = ListenAt(path, 0600);
  ASSERT_THAT(listening, IsOk());
  EXPECT_THAT(Attach(path, 1000, nullptr, {.timeout = std::chrono::milliseconds(1)}),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       AllOf(HasSubstr(path), HasSubstr("within 0.001 s"))));
}

TEST(AttachClientTest, WhatWaitsForAnAnswerIsEnded) {
  const ScratchDirectory folder;
  const std::string path = folder.File("attach.sock");
  const auto listening = ListenAt(path, 0600);
  ASSERT_THAT(listening, IsOk());
  std::stop_source stop;
  std::thread worker([&] {
    const FileDescriptor connection(accept(listening->get(), nullptr, nullptr));
    EXPECT_THAT(ReceiveRequest(connection.get()), IsOk());
    stop.request_stop();
    char byte = 0;
    EXPECT_EQ(read(connection.get(), &byte, 1), 0);  // it has hung up
  });
  EXPECT_THAT(Attach(path, 1000, nullptr, {.stop = stop.get_token()}),
              StatusIs(absl::StatusCode::kCancelled, _));
  worker.join();
}

TEST(AttachClientTest, OneThatEndsWithoutAnAnswerIsUnavailable) {
  const ScratchDirectory folder;
  const std::string path = folder.File("attach.sock");
  const auto listening = ListenAt(path, 0600);
  ASSERT_THAT(listening, IsOk());
  std::thread worker([&] {
    const FileDescriptor connection(accept(listening->get(), nullptr, nullptr));
    EXPECT_THAT(ReceiveRequest(connection.get()), IsOk());
  });
  EXPECT_THAT(Attach(path, 1000), StatusIs(absl::StatusCode::kUnavailable, _));
  worker.join();
}

TEST(AttachClientTest, WithoutAWorkerItIsUnavailable) {
  EXPECT_THAT(Attach("/nowhere/attach.sock", 1000),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/nowhere")));
}

}  // namespace
}  // namespace evenpack::worker
