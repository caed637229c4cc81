// The tables of docs/metrics.md, made from the definitions of all metrics.
#ifndef EVENPACK_TESTS_SERVER_METRICS_METRIC_DOC_H_
#define EVENPACK_TESTS_SERVER_METRICS_METRIC_DOC_H_

#include <string>
#include <string_view>
#include <vector>

namespace evenpack::testing {

struct MetricDoc {
  // The given one with its tables made anew: each between the lines
  //   <!-- metrics: TITLE -->
  //   <!-- end -->
  std::string text;
  // Of groups that the document has no place for, or more than one; of places that no
  // group fills; "end" where a table has no end.
  std::vector<std::string> misplaced;
};

MetricDoc WithTables(std::string_view document);

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_SERVER_METRICS_METRIC_DOC_H_
