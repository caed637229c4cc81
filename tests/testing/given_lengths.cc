#include "tests/testing/given_lengths.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include "tests/testing/source_file.h"

namespace evenpack::testing {

const std::vector<uint32_t>& GivenLengths() {
  static const std::vector<uint32_t> lengths = [] {
    const std::string path = SourceFile("deploy/data/lengths/wlbllm.txt");
    std::ifstream file(path);
    std::vector<uint32_t> read;
    for (uint32_t length = 0; file >> length;) read.push_back(length);
    if (read.empty()) {
      std::cerr << path << ": no lengths\n";
      std::exit(1);
    }
    return read;
  }();
  return lengths;
}

}  // namespace evenpack::testing
