#include "server/core/engine/stream_index.h"

#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::StatusIs;

TEST(StreamIndexTest, FindsByNameAndNamesWhatThereIs) {
  JobSpec spec;
  spec.streams = {{"web", 1}, {"code", 2}};
  EXPECT_EQ(FindStream(spec, "web").value(), 0U);
  EXPECT_EQ(FindStream(spec, "code").value(), 1U);
  EXPECT_THAT(FindStream(spec, "Web").status(),
              StatusIs(absl::StatusCode::kNotFound,
                       "stream: 'Web' is not accepted; accepted: the job's streams, "
                       "web, code"));
}

}  // namespace
}  // namespace evenpack
