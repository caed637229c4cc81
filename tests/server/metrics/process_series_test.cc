#include "server/metrics/process_series.h"

#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <utility>

namespace evenpack {
namespace {

TEST(ProcessSeriesTest, LeavesOutWhatTheSystemDoesNotTell) {
  ProcessFigures process;
  process.open_fds = 3;
  FamiliesOf<ProcessMetric> families;
  AddProcessSeries(process, families);
  EXPECT_EQ(prometheus::TextSerializer().Serialize(std::move(families).Take()),
            "# HELP process_open_fds File descriptors that are open.\n"
            "# TYPE process_open_fds gauge\n"
            "process_open_fds 3\n");
}

}  // namespace
}  // namespace evenpack
