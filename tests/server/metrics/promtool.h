// Prometheus' own tool, promtool of package prometheus.
#ifndef EVENPACK_TESTS_SERVER_METRICS_PROMTOOL_H_
#define EVENPACK_TESTS_SERVER_METRICS_PROMTOOL_H_

#include <string>

namespace evenpack::testing {

struct PromtoolOutcome {
  int status = 0;
  // Of both streams.
  std::string output;
};

// Runs `promtool ARGUMENTS INPUT`, INPUT being a file with `text`.
PromtoolOutcome RunPromtool(const std::string& arguments, const std::string& text);

// What it says of a page of metrics; nothing where all is well.
PromtoolOutcome CheckMetrics(const std::string& text);

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_SERVER_METRICS_PROMTOOL_H_
