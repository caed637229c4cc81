// Writes the tables of docs/metrics.md anew: see make_doc.sh.
//   write_metric_doc docs/metrics.md
#include <cstdio>
#include <fstream>
#include <string>

#include "tests/server/metrics/metric_doc.h"
#include "tests/testing/file_bytes.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("write_metric_doc: expects the document's path\n", stderr);
    return 2;
  }
  const std::string before = evenpack::testing::FileBytes(argv[1]);
  const evenpack::testing::MetricDoc doc = evenpack::testing::WithTables(before);
  for (const std::string& title : doc.misplaced) {
    std::fprintf(stderr,
                 "write_metric_doc: %s: expected once, between "
                 "'<!-- metrics: TITLE -->' and '<!-- end -->'\n",
                 title.c_str());
  }
  if (!doc.misplaced.empty() || before.empty()) return 1;
  std::ofstream(argv[1]) << doc.text;
  return 0;
}
