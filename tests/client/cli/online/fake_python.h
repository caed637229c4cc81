// Programs in the place of an interpreter of Python.
#ifndef EVENPACK_TESTS_CLIENT_CLI_ONLINE_FAKE_PYTHON_H_
#define EVENPACK_TESTS_CLIENT_CLI_ONLINE_FAKE_PYTHON_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/testing/scratch_path.h"

namespace evenpack::testing {

// The path of a program that does what `script`, of a shell, says.
inline std::string FakePython(const std::string& script) {
  static int programs = 0;
  std::string path = ScratchPath("fake_python-") + std::to_string(++programs);
  std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

// One that writes these records, and reads no file.
inline std::string WritingPython(const std::string& records) {
  return FakePython("cat <<'END'\n" + records + "END");
}

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_CLIENT_CLI_ONLINE_FAKE_PYTHON_H_
