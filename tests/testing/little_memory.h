// A process that may have little more memory than it has.
#ifndef EVENPACK_TESTS_TESTING_LITTLE_MEMORY_H_
#define EVENPACK_TESTS_TESTING_LITTLE_MEMORY_H_

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "tests/testing/spared_rounds.h"

namespace evenpack::testing {

// While it lives: room for the stacks of some fifty threads. Not under a sanitizer,
// which has memory of its own.
class LittleMemory {
 public:
  LittleMemory() {
    // Each thread's own would take eight times what its stack does, and stay.
    EXPECT_EQ(mallopt(M_ARENA_MAX, 1), 1);
    getrlimit(RLIMIT_AS, &before_);
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const auto page = static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
    const rlimit little = {pages * page + (rlim_t{400} << 20), before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_AS, &little), 0);
  }
  ~LittleMemory() { EXPECT_EQ(setrlimit(RLIMIT_AS, &before_), 0); }
  LittleMemory(const LittleMemory&) = delete;
  LittleMemory& operator=(const LittleMemory&) = delete;

  static bool IsPossible() { return !kIsSanitized; }

 private:
  rlimit before_ = {};
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_TESTING_LITTLE_MEMORY_H_
