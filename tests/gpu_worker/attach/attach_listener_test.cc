#include "gpu_worker/attach/attach_listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>

#include "absl/strings/str_cat.h"
#include "gpu_worker/attach/attach_client.h"
#include "tests/gpu_worker/attach/recorded_trainers.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::RecordedTrainers;
using evenpack::testing::ScratchDirectory;
using evenpack::testing::StatusIs;
using ::testing::_;
using ::testing::AllOf;
using ::testing::HasSubstr;

class AttachListenerTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kMost = 1 << 20;

  void Start(uid_t user = geteuid()) {
    auto listener = AttachListener::Start({path_, user, arenas_}, trainers_);
    ASSERT_THAT(listener, IsOk());
    listener_ = *std::move(listener);
  }

  const ScratchDirectory folder_;
  const std::string path_ = folder_.File("attach.sock");
  ArenaMaker arenas_{.max_bytes = kMost};
  RecordedTrainers trainers_;
  std::unique_ptr<AttachListener> listener_;
};

TEST_F(AttachListenerTest, ATrainerAndItsWorkerHaveTheSameArena) {
  Start();
  const auto attached = Attach(path_, 1000);
  ASSERT_THAT(attached, IsOk());
  EXPECT_EQ(attached->arena().data_bytes(), 1000U);
  attached->arena().data()[5] = 42;
  EXPECT_EQ(trainers_.arena()->data()[5], 42);
  const auto trainers = trainers_.trainers();
  ASSERT_EQ(trainers.size(), 1U);
  EXPECT_EQ(trainers[0].process, getpid());
  EXPECT_EQ(trainers[0].user, geteuid());
  EXPECT_EQ(trainers[0].token, attached->token());
  EXPECT_FALSE(attached->IsGone());
}

TEST_F(AttachListenerTest, OneTrainerIsAttachedAtATime) {
  Start();
  std::optional<Attachment> first = *Attach(path_, 1000);
  EXPECT_THAT(Attach(path_, 1000),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr(absl::StrCat("process ", getpid(), " is attached"))));
  const AttachToken token = first->token();
  first.reset();
  const auto second = Attach(path_, 1000);
  ASSERT_THAT(second, IsOk());
  EXPECT_NE(second->token(), token);
}

TEST_F(AttachListenerTest, AnArenaIsNewForEachTrainer) {
  Start();
  {
    const auto first = Attach(path_, 1000);
    ASSERT_THAT(first, IsOk());
    first->arena().data()[0] = 1;
  }
  const auto second = Attach(path_, 1000);
  ASSERT_THAT(second, IsOk());
  EXPECT_EQ(second->arena().data()[0], 0);
}

TEST_F(AttachListenerTest, ATrainerThatIsKilledIsDetached) {
  Start();
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto attached = Attach(path_, 1000);
    if (!attached.ok() || write(ready[1], "x", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  ASSERT_EQ(trainers_.trainers().size(), 1U);
  EXPECT_EQ(trainers_.trainers()[0].process, child);
  kill(child, SIGKILL);
  trainers_.AwaitNone();
  waitpid(child, nullptr, 0);
  EXPECT_THAT(Attach(path_, 1000), IsOk());
}

// Which a loader of the trainer's data may be, and which has the connection as well.
TEST_F(AttachListenerTest, ATrainerThatIsKilledIsDetachedThoughAForkOfItLives) {
  Start();
  int ready[2];
  int end[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(end), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(end[1]);
    const auto connection = ConnectTo(path_);
    AttachRequest request;
    request.arena_bytes = 1000;
    if (!connection.ok() || !SendRequest(connection->get(), request).ok() ||
        !ReceiveReply(connection->get()).ok()) {
      _exit(1);
    }
    char byte = 'x';
    if (fork() == 0) _exit(read(end[0], &byte, 1) == 0 ? 0 : 1);
    if (write(ready[1], &byte, 1) != 1) _exit(1);
    for (;;) pause();
  }
  close(end[0]);
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  kill(child, SIGKILL);
  trainers_.AwaitNone();
  waitpid(child, nullptr, 0);
  EXPECT_THAT(Attach(path_, 1000), IsOk());
  close(end[1]);  // the fork's end
}

TEST_F(AttachListenerTest, AnotherUsersProcessIsRefused) {
  // As if this process were another user's.
  Start(geteuid() + 1);
  EXPECT_THAT(Attach(path_, 1000),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(HasSubstr(absl::StrCat("user ", geteuid(), " ")),
                             HasSubstr(absl::StrCat("user ", geteuid() + 1)))));
  EXPECT_TRUE(trainers_.trainers().empty());
}

// Each would keep the trainer waiting, and fill the log.
TEST_F(AttachListenerTest, AnotherUsersProcessesAreNotWaitedForAndSeldomLogged) {
  ::testing::internal::CaptureStderr();
  Start(geteuid() + 1);
  constexpr int kStrangers = 1000;
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < kStrangers; ++i) {
    const auto silent = ConnectTo(path_);
    ASSERT_THAT(silent, IsOk());
    const auto reply = ReceiveReply(silent->get());
    ASSERT_THAT(reply, IsOk());
    EXPECT_THAT(ReadResult(reply->reply.result),
                StatusIs(absl::StatusCode::kPermissionDenied, _));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun,
            kStrangers * std::chrono::milliseconds(10));
  listener_.reset();
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("a trainer was refused"));
  EXPECT_LE(std::count(log.begin(), log.end(), '\n'), 10);
}

TEST_F(AttachListenerTest, NoArenaIsMadeForWhoIsNotLetIn) {
  int made = 0;
  arenas_.make = [&made](uint64_t bytes) {
    ++made;
    return Arena::Create(bytes);
  };
  Start();
  const auto first = Attach(path_, 1000);
  ASSERT_THAT(first, IsOk());
  EXPECT_FALSE(Attach(path_, 1000).ok());
  EXPECT_EQ(made, 1);
}

TEST_F(AttachListenerTest, SizesThatItHasNotAreRefused) {
  Start();
  EXPECT_THAT(Attach(path_, kMost + 1),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("1048577"), HasSubstr("up to 1048576"))));
  EXPECT_THAT(Attach(path_, 0),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("arena_bytes")));
  EXPECT_THAT(Attach(path_, kMost), IsOk());
}

TEST_F(AttachListenerTest, TensorsThatTheOtherSideCanNotMapAreRefused) {
  const MapTensors none = [](auto, auto, const auto&) {
    return absl::InternalError("not reached");
  };
  Start();
  EXPECT_THAT(Attach(path_, 1000, none),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("arena_kind: 1 is not accepted; accepted: 0")));
  listener_.reset();
  arenas_.kind = ArenaKind::kCuda;
  Start();
  EXPECT_THAT(Attach(path_, 1000), StatusIs(absl::StatusCode::kFailedPrecondition,
                                            HasSubstr("(--device cuda)")));
}

TEST_F(AttachListenerTest, AnotherVersionIsRefused) {
  Start();
  const auto connection = ConnectTo(path_);
  ASSERT_THAT(connection, IsOk());
  AttachRequest request;
  request.version = 7;
  ASSERT_THAT(SendRequest(connection->get(), request), IsOk());
  const auto reply = ReceiveReply(connection->get());
  ASSERT_THAT(reply, IsOk());
  EXPECT_THAT(ReadResult(reply->reply.result),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("version: 7")));
}

TEST_F(AttachListenerTest, ItsEndDetachesTheTrainer) {
  Start();
  const auto attached = Attach(path_, 1000);
  ASSERT_THAT(attached, IsOk());
  listener_.reset();
  EXPECT_EQ(trainers_.arena(), nullptr);
  EXPECT_TRUE(attached->IsGone());
  EXPECT_THAT(Attach(path_, 1000),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(path_)));
}

}  // namespace
}  // namespace evenpack::worker
