#include "gpu_worker/sidecar/sidecar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "tests/gpu_worker/sidecar/pretended_job.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::PretendedJob;
using evenpack::testing::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;

constexpr uint64_t kMemory = 1 << 20;
constexpr uint64_t kArena = 1 << 18;

// Whose ranks' ends take as long as it is told, on the processor. It throws where it is
// told to lack threads.
class HeldForm final : public SidecarForm {
 public:
  ArenaMaker ArenasOf(uint64_t memory_bytes) const override {
    return host_.ArenasOf(memory_bytes);
  }
  absl::StatusOr<std::unique_ptr<RankForm>> OpenRank(uint64_t bytes) const override {
    if (lacks_threads_) {
      throw std::system_error(EAGAIN, std::generic_category(), "a thread");
    }
    return std::make_unique<Rank>(host_.OpenRank(bytes).value(), *this);
  }

  void LackThreads(bool lacks) { lacks_threads_ = lacks; }
  void Hold() { held_ = true; }
  void AwaitEnding() const {
    while (!ending_) std::this_thread::yield();
  }
  void Release() { held_ = false; }
  bool is_held() const { return held_; }

 private:
  class Rank final : public RankForm {
   public:
    Rank(std::unique_ptr<RankForm> of, const HeldForm& form)
        : of_(std::move(of)), form_(form) {}
    ~Rank() override {
      form_.ending_ = true;
      while (form_.held_) std::this_thread::yield();
    }
    Rank(const Rank&) = delete;
    Rank& operator=(const Rank&) = delete;

    AttentionEngine& engine() override { return of_->engine(); }
    Device& device() override { return of_->device(); }
    const CudaWorkplace* workplace() const override { return nullptr; }
    size_t least_group_bytes() const override { return of_->least_group_bytes(); }
    absl::StatusOr<OpenEndpointOf> Endpoints() const override {
      return of_->Endpoints();
    }
    absl::Status After(cuda::Stream stream) const override {
      return of_->After(stream);
    }
    absl::Status Before(cuda::Stream stream) const override {
      return of_->Before(stream);
    }

   private:
    const std::unique_ptr<RankForm> of_;
    const HeldForm& form_;
  };

  const HostSidecarForm host_;
  std::atomic<bool> lacks_threads_ = false;
  std::atomic<bool> held_ = false;
  mutable std::atomic<bool> ending_ = false;
};

class SidecarTest : public ::testing::Test {
 protected:
  SidecarTest() {
    SidecarOptions options;
    options.form = form_;
    options.memory_bytes = kMemory;
    sidecar_.emplace(job_.client(), options);
    request_.steps.job = "job";
    request_.steps.dp_rank = 1;
    request_.steps.cp_rank = 0;
    request_.member = "m";
  }

  void Attach(uint8_t token) {
    AttachedTrainer trainer{77, 0, {}};
    trainer.token.fill(token);
    sidecar_->OnAttached(trainer, std::make_shared<Arena>(*Arena::Create(kArena)));
  }
  absl::StatusOr<OpenedSession> Open(uint8_t token) {
    return sidecar_->OpenSession(Token(token), request_);
  }
  static std::string Token(uint8_t token) {
    return std::string(16, static_cast<char>(token));
  }

  PretendedJob job_{3};
  const std::shared_ptr<HeldForm> form_ = std::make_shared<HeldForm>();
  std::optional<Sidecar> sidecar_;
  SessionRequest request_;
};

TEST_F(SidecarTest, OpensASessionForWhoIsAttached) {
  Attach(200);
  const auto opened = Open(200);
  ASSERT_THAT(opened, IsOk());
  EXPECT_EQ(opened->cp_size, 2U);
  EXPECT_EQ(opened->scratch_bytes, kMemory - kArena);
  const SidecarStatus status = sidecar_->status();
  ASSERT_TRUE(status.trainer.has_value());
  EXPECT_EQ(status.trainer->process, 77);
  EXPECT_EQ(status.arena_bytes, kArena);
  ASSERT_TRUE(status.session.has_value());
  EXPECT_EQ(status.session->job, "job");
  EXPECT_EQ(status.session->dp_rank, 1U);
  EXPECT_EQ(status.session->cp_size, 2U);
  EXPECT_EQ(status.session->progress.submissions, 0U);
  EXPECT_FALSE(status.session->progress.step.has_value());
  sidecar_->OnDetached();
  EXPECT_FALSE(sidecar_->status().trainer.has_value());
  EXPECT_FALSE(sidecar_->status().session.has_value());
  EXPECT_EQ(sidecar_->status().arena_bytes, 0U);
}

TEST_F(SidecarTest, AnotherTokenIsRefused) {
  const auto refused =
      StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("token"));
  EXPECT_THAT(Open(0), refused);
  Attach(7);
  EXPECT_THAT(Open(8), refused);
  EXPECT_THAT(sidecar_->OpenSession("", request_), refused);
  EXPECT_THAT(sidecar_->OpenSession(Token(7) + "x", request_), refused);
  EXPECT_THAT(sidecar_->CloseSession(Token(8)), refused);
  EXPECT_THAT(Open(7), IsOk());
  sidecar_->OnDetached();
  EXPECT_THAT(Open(7), refused);
}

TEST_F(SidecarTest, AnArenaHasOneSession) {
  Attach(7);
  ASSERT_THAT(Open(7), IsOk());
  const auto refused =
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("one for each time"));
  EXPECT_THAT(Open(7), refused);
  EXPECT_THAT(sidecar_->CloseSession(Token(7)), IsOk());
  EXPECT_FALSE(sidecar_->status().session.has_value());
  EXPECT_THAT(Open(7), refused);
  EXPECT_THAT(sidecar_->CloseSession(Token(7)), IsOk());
  sidecar_->OnDetached();
  Attach(8);
  EXPECT_THAT(Open(8), IsOk());
  sidecar_->OnDetached();
}

// Else another trainer's would take memory beside it.
TEST_F(SidecarTest, WhoIsGoneIsWaitedForUntilItsSessionHasEnded) {
  Attach(7);
  ASSERT_THAT(Open(7), IsOk());
  form_->Hold();
  std::thread closing([&] { EXPECT_THAT(sidecar_->CloseSession(Token(7)), IsOk()); });
  form_->AwaitEnding();
  std::thread detaching([&] {
    sidecar_->OnDetached();
    EXPECT_FALSE(form_->is_held());
  });
  while (sidecar_->status().trainer.has_value()) std::this_thread::yield();
  // Time for one who doesn't wait.
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  form_->Release();
  closing.join();
  detaching.join();
}

TEST_F(SidecarTest, ASessionThatWasRefusedMayBeTriedAgain) {
  Attach(7);
  request_.steps.job = "other";
  EXPECT_THAT(Open(7), StatusIs(absl::StatusCode::kNotFound, _));
  request_.steps.job = "job";
  EXPECT_THAT(Open(7), IsOk());
  sidecar_->OnDetached();
}

// Neither who is attached nor the next trainer waits for an opening that was thrown out
// of.
TEST_F(SidecarTest, WithoutThreadsForItASessionIsRefused) {
  Attach(7);
  form_->LackThreads(true);
  EXPECT_THAT(Open(7),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("a thread")));
  sidecar_->OnDetached();
  Attach(8);
  EXPECT_THAT(Open(8), StatusIs(absl::StatusCode::kResourceExhausted, _));
  form_->LackThreads(false);
  EXPECT_THAT(Open(8), IsOk());
  sidecar_->OnDetached();
}

TEST_F(SidecarTest, WhoIsGoneWhileTheServerIsAwayIsNotWaitedFor) {
  job_.GoAway();
  Attach(7);
  std::thread opening([&] {
    // It may also live, and the worker end: ABORTED would tell it to begin a step anew.
    EXPECT_THAT(Open(7), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("ends")));
  });
  job_.AwaitSomebodyWaiting();
  EXPECT_THAT(Open(7), StatusIs(absl::StatusCode::kFailedPrecondition, _));
  sidecar_->OnDetached();
  opening.join();
  EXPECT_FALSE(sidecar_->status().session.has_value());
}

}  // namespace
}  // namespace evenpack::worker
