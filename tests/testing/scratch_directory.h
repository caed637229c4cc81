// A directory that goes with the test.
#ifndef EVENPACK_TESTS_TESTING_SCRATCH_DIRECTORY_H_
#define EVENPACK_TESTS_TESTING_SCRATCH_DIRECTORY_H_

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace evenpack::testing {

class ScratchDirectory {
 public:
  ScratchDirectory() { EXPECT_NE(mkdtemp(path_.data()), nullptr); }
  // A fork of the test's process leaves it.
  ~ScratchDirectory() {
    if (getpid() == owner_) std::filesystem::remove_all(path_);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  const pid_t owner_ = getpid();
  std::string path_ = ::testing::TempDir() + "evenpack_XXXXXX";
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_TESTING_SCRATCH_DIRECTORY_H_
