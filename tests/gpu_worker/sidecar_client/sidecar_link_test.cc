#include "gpu_worker/sidecar_client/sidecar_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <optional>

#include "gpu_worker/attach/attach_listener.h"
#include "tests/gpu_worker/attach/recorded_trainers.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::RecordedTrainers;
using evenpack::testing::ScratchDirectory;

class SidecarLinkTest : public ::testing::Test {
 protected:
  SidecarLinkTest() {
    const std::string path = folder_.File("attach.sock");
    listener_ = AttachListener::Start({path, geteuid(), {.max_bytes = 4096}}, trainers_)
                    .value();
    link_.emplace(Attach(path, 4096).value());
  }

  // How many of what writes to the arena a fork of this process is not refused.
  int AcceptedInAFork() {
    const pid_t child = fork();
    if (child == 0) {
      const absl::Status refused[] = {
          link_->Allocate(64).status(), link_->BeginStep(1).status(),
          link_->Forward(1, 0, 1, {}).status(), link_->Backward(1, 0, 1, {}).status(),
          link_->EndStep(1).status()};
      link_->SignalReady(7);
      int accepted = 0;
      for (const absl::Status& status : refused) {
        accepted += absl::IsFailedPrecondition(status) ? 0 : 1;
      }
      _exit(accepted);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  const ScratchDirectory folder_;
  RecordedTrainers trainers_;
  std::unique_ptr<AttachListener> listener_;
  std::optional<SidecarLink> link_;
};

// Both map the arena, where the one's submissions would take the places of the other's.
TEST_F(SidecarLinkTest, AForkWritesNothingToItsParentsArena) {
  const ArenaHeader& header = link_->arena().header();
  ASSERT_THAT(link_->BeginStep(1), IsOk());
  EXPECT_EQ(AcceptedInAFork(), 0);
  EXPECT_EQ(header.submitted.value.load(), 1U);
  EXPECT_EQ(header.ready.value.load(), 0U);
  EXPECT_THAT(link_->Allocate(64), IsOk());
  link_->SignalReady(7);
  EXPECT_EQ(header.ready.value.load(), 7U);
}

}  // namespace
}  // namespace evenpack::worker
