#include "gpu_worker/nccl/nccl_ending.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "tests/gpu_worker/nccl/fake_group.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::FakeDevice;
using evenpack::testing::PassingTime;

class NcclEndingTest : public evenpack::testing::FakeNcclTest {
 protected:
  static constexpr std::chrono::hours kLong{1};

  // A rank of a group that is not complete.
  NcclHandle Begin(int rank) {
    NcclHandle handle = {library_, device_.context()};
    nccl::Config config;
    config.blocking = 0;
    const CurrentContext current(*handle.context);
    EXPECT_EQ(library_->functions().ncclCommInitRankConfig(&handle.communicator, 3, id_,
                                                           rank, &config),
              nccl::kInProgress);
    return handle;
  }

  const std::shared_ptr<const NcclLibrary> library_ = Library();
  FakeDevice device_;
  const nccl::UniqueId id_ = [this] {
    nccl::UniqueId id;
    library_->functions().ncclGetUniqueId(&id);
    return id;
  }();
};

TEST_F(NcclEndingTest, ReturnsOnceNcclIsDone) {
  NcclHandle handle = Begin(0);
  const auto library = library_.use_count();
  // Time stands still.
  EndNccl(std::move(handle), NcclEnd::kAbort, Timing(), Timing().After(kLong));
  EXPECT_EQ(fakeNcclLive(), 0U);
  EXPECT_EQ(library_.use_count(), library - 1) << "nothing is kept";
}

TEST_F(NcclEndingTest, KeepsWhatNcclNeedsWhereItTakesLonger) {
  NcclHandle first = Begin(0);
  NcclHandle second = Begin(1);
  fakeNcclWaitForHost(true);
  const auto uses = device_.context().use_count();
  std::thread ending([&] {
    EndNccl(std::move(first), NcclEnd::kAbort, Timing(), Timing().After(kLong));
  });
  while (fakeNcclEnding() == 0) std::this_thread::yield();
  {
    const PassingTime time(clock_);
    ending.join();
  }
  EXPECT_EQ(fakeNcclEnding(), 1U);
  EXPECT_EQ(device_.context().use_count(), uses);
  // The last of the host.
  EndNccl(std::move(second), NcclEnd::kAbort, Timing(), Timing().After(kLong));
  while (device_.context().use_count() > uses - 2) std::this_thread::yield();
}

}  // namespace
}  // namespace evenpack::worker
