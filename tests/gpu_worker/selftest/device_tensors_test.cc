#include "gpu_worker/selftest/device_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "gpu_worker/device/host_device.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;

TEST(DeviceTensorsTest, WhatIsComputedComesBackAndNothingElse) {
  RankTensors tensors;
  tensors.query = {1, 2};
  tensors.output = {3, 4};
  HostDevice device;
  const auto copy = DeviceTensors::Copy(tensors, device).value();
  static_cast<char*>(copy->result().output)[1] = 5;
  tensors.query = {6, 7};
  ASSERT_THAT(copy->ReadBack(), IsOk());
  EXPECT_EQ(tensors.output, (std::vector<char>{3, 5}));
  EXPECT_EQ(tensors.query, (std::vector<char>{6, 7}));
  ASSERT_THAT(copy->CopyAgain(), IsOk());
  EXPECT_EQ(static_cast<const char*>(copy->input().query)[1], 7);
}

TEST(DeviceTensorsTest, WhatIsWrittenBehindATensorIsFound) {
  RankTensors tensors;
  tensors.query_gradient = {1, 2, 3};
  HostDevice device;
  const auto copy = DeviceTensors::Copy(tensors, device).value();
  static_cast<char*>(copy->gradients().query)[3 + 40] = 0;
  EXPECT_THAT(copy->ReadBack(),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("of 3 bytes was written at 40 behind its end")));
}

}  // namespace
}  // namespace evenpack::worker
