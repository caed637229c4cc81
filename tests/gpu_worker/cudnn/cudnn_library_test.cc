#include "gpu_worker/cudnn/cudnn_library.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace evenpack::worker {
namespace {

using ::testing::HasSubstr;

// What threads that come at once are told.
std::vector<absl::Status> LoadedByThreads(const std::string& path) {
  std::vector<absl::Status> told(4);
  std::vector<std::thread> threads;
  for (absl::Status& status : told) {
    threads.emplace_back([&] { status = LoadCudnn(path); });
  }
  for (std::thread& thread : threads) thread.join();
  return told;
}

// In one test, since a process has the first that is accepted.
TEST(CudnnLibraryTest, OneIsLoadedAlthoughAnOldOneWasRefused) {
  ASSERT_NE(dlopen(EVENPACK_ABSENT_CUDA, RTLD_NOW | RTLD_GLOBAL), nullptr) << dlerror();
  for (const absl::Status& status : LoadedByThreads(EVENPACK_OLD_CUDNN)) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(status.message(), HasSubstr("is of version 91700; accepted: 91800"));
  }
  const std::vector<absl::Status> told = LoadedByThreads("");
  if (absl::IsFailedPrecondition(told[0])) GTEST_SKIP() << told[0];
  for (const absl::Status& status : told) EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(LoadCudnn(EVENPACK_OLD_CUDNN).ok());
}

}  // namespace
}  // namespace evenpack::worker
