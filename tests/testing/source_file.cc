#include "tests/testing/source_file.h"

namespace evenpack::testing {

std::string SourceFile(std::string_view path) {
  return std::string(EVENPACK_SOURCE_DIR "/").append(path);
}

}  // namespace evenpack::testing
