// Where a test program writes what it reads again.
#ifndef EVENPACK_TESTS_TESTING_SCRATCH_PATH_H_
#define EVENPACK_TESTS_TESTING_SCRATCH_PATH_H_

#include <fstream>
#include <string>

#include "tests/testing/scratch_directory.h"

namespace evenpack::testing {

// Of a file in a directory that goes with the process.
inline std::string ScratchPath(const std::string& name) {
  static const ScratchDirectory directory;
  return directory.File(name);
}

// The path of one with this content.
inline std::string ScratchFile(const std::string& name, const std::string& content) {
  std::string path = ScratchPath(name);
  std::ofstream(path) << content;
  return path;
}

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_TESTING_SCRATCH_PATH_H_
