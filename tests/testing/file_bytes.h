// What a file holds.
#ifndef EVENPACK_TESTS_TESTING_FILE_BYTES_H_
#define EVENPACK_TESTS_TESTING_FILE_BYTES_H_

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace evenpack::testing {

// All of it; nothing of a file that can't be read.
inline std::string FileBytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_TESTING_FILE_BYTES_H_
