#include "server/metrics/server_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <string>
#include <utility>

#include "tests/server/metrics/fake_figures.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string TextOf(MetricFamilies families) {
  return prometheus::TextSerializer().Serialize(std::move(families).Take());
}

TEST(ServerSeriesTest, NamesErrorsByTheirCodeAndLeavesOutOk) {
  MetricFamilies families;
  AddServerSeries(testing::FilledServer(), families);
  const std::string text = TextOf(std::move(families));
  EXPECT_THAT(text, HasSubstr("\nevenpack_errors_total{code=\"CANCELLED\"} 21\n"));
  EXPECT_THAT(text, HasSubstr("\nevenpack_errors_total{code=\"OUT_OF_RANGE\"} 31\n"));
  EXPECT_THAT(text,
              HasSubstr("\nevenpack_errors_total{code=\"UNAUTHENTICATED\"} 36\n"));
  EXPECT_THAT(text, Not(HasSubstr("code=\"OK\"")));
}

}  // namespace
}  // namespace evenpack
