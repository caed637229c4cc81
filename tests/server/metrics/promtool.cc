#include "tests/server/metrics/promtool.h"

#include <cstdlib>
#include <fstream>

#include "tests/testing/file_bytes.h"
#include "tests/testing/scratch_directory.h"

namespace evenpack::testing {

PromtoolOutcome RunPromtool(const std::string& arguments, const std::string& text) {
  const ScratchDirectory directory;
  const std::string in = directory.File("in");
  const std::string out = directory.File("out");
  std::ofstream(in) << text;
  PromtoolOutcome outcome;
  outcome.status =
      std::system(("promtool " + arguments + in + " >" + out + " 2>&1").c_str());
  outcome.output = FileBytes(out);
  return outcome;
}

PromtoolOutcome CheckMetrics(const std::string& text) {
  return RunPromtool("check metrics <", text);
}

}  // namespace evenpack::testing
