// A file in memory, for what reads files by their names.
#ifndef EVENPACK_TESTS_FUZZ_GIVEN_FILE_H_
#define EVENPACK_TESTS_FUZZ_GIVEN_FILE_H_

#include <string>
#include <string_view>

namespace evenpack::fuzz {

// Gone with the object.
class GivenFile {
 public:
  explicit GivenFile(std::string_view content);
  ~GivenFile();
  GivenFile(const GivenFile&) = delete;
  GivenFile& operator=(const GivenFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  const int descriptor_;
};

}  // namespace evenpack::fuzz

#endif  // EVENPACK_TESTS_FUZZ_GIVEN_FILE_H_
