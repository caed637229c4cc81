#include "gpu_worker/cudnn/device_generation.h"

#include <gtest/gtest.h>

namespace evenpack::worker {
namespace {

TEST(DeviceGenerationTest, IsOfTheVersionThatCudnnTells) {
  EXPECT_EQ(GenerationOf(R"({"deviceName": "NVIDIA H200", "deviceVer": 900})"), 90);
  EXPECT_EQ(GenerationOf(R"({"deviceVer":1000,"driverVer":13000})"), 100);
  EXPECT_EQ(GenerationOf(R"({"deviceVer" : 860})"), 86);
}

TEST(DeviceGenerationTest, IsHoppersWhereCudnnDoesNotTell) {
  for (const char* const properties :
       {"", "{}", R"({"deviceVer")", R"({"deviceVer": "new"})",
        R"({"deviceVer": -1})"}) {
    EXPECT_EQ(GenerationOf(properties), kHopper) << properties;
  }
}

}  // namespace
}  // namespace evenpack::worker
