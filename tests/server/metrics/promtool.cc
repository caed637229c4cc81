#include "tests/server/metrics/promtool.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace evenpack::testing {

PromtoolOutcome RunPromtool(const std::string& arguments, const std::string& text) {
  std::string directory = ::testing::TempDir() + "/promtool_XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) return {-1, "no temporary directory"};
  const std::string in = directory + "/in";
  const std::string out = directory + "/out";
  std::ofstream(in) << text;
  PromtoolOutcome outcome;
  outcome.status =
      std::system(("promtool " + arguments + in + " >" + out + " 2>&1").c_str());
  std::ifstream file(out);
  outcome.output.assign((std::istreambuf_iterator<char>(file)), {});
  unlink(in.c_str());
  unlink(out.c_str());
  rmdir(directory.c_str());
  return outcome;
}

PromtoolOutcome CheckMetrics(const std::string& text) {
  return RunPromtool("check metrics <", text);
}

}  // namespace evenpack::testing
