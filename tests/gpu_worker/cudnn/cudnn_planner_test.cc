#include "gpu_worker/cudnn/cudnn_planner.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpu_worker/cudnn/call_heads.h"
#include "gpu_worker/cudnn/plan_ladder.h"

namespace evenpack::worker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// As CudnnDeviceProperties tells them where there is one (driver 580.159, cuDNN 9.19).
constexpr char kH200[] = R"({
  "cudaDeviceId": 0, "deviceName": "NVIDIA H200", "deviceVer": 900, "driverVer": 13000,
  "isTccDriver": 0, "l2CacheSize": 62914560, "maxBlockSize": [1024, 1024, 64],
  "maxCtasPerSM": 32, "maxGridSize": [2147483647, 65535, 65535],
  "maxRegistersPerSM": 65536, "maxSharedMemoryPerBlock": 49152,
  "maxSharedMemoryPerBlockOptin": 232448, "maxThreadsPerBlock": 1024,
  "maxThreadsPerSM": 2048, "memClockRateKHz": 3201000, "multiProcessorCount": 132,
  "pciDeviceId": 6, "regsPerBlock": 65536, "reservedSharedMemoryPerBlock": 1024,
  "smClockRateKHz": 1980000, "supportCoopLaunch": 1, "totalGlobalMem": 150109880320,
  "warpSize": 32})";

PlanShape ShapeOf(Pass pass, uint32_t head_size) {
  PlanShape shape;
  shape.pass = pass;
  shape.attention.type = ElementType::kBfloat16;
  shape.attention.query_heads = 32;
  shape.attention.kv_heads = 8;
  shape.attention.head_size = head_size;
  shape.sequences = 11;
  shape.queries = 3000;
  shape.keys = 5000;
  if (pass == Pass::kBackward) {
    shape.all_queries = 8000;
    shape.all_keys = 15000;
    // Of more heads than the plan's.
    shape.key_gradient_stride = int64_t{16} * head_size;
  }
  shape.query_stride = int64_t{32} * head_size;
  shape.key_stride = int64_t{8} * head_size;
  shape.log_sum_exp_stride = 32;
  return OnLadder(shape);
}

class CudnnPlannerTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_NE(dlopen(EVENPACK_ABSENT_CUDA, RTLD_NOW | RTLD_GLOBAL), nullptr)
        << dlerror();
  }

  // Where there is no cuDNN, that is said before anything else.
  void SetUp() override {
    const absl::Status status = CheckCudnnPlan(PlanShape{}, "");
    if (absl::IsFailedPrecondition(status)) GTEST_SKIP() << status;
  }
};

TEST_F(CudnnPlannerTest, EachPassHasAKernelForEachHeadSize) {
  for (const uint32_t head_size : {64U, 128U, 192U, 256U}) {
    for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
      const absl::Status status = CheckCudnnPlan(ShapeOf(pass, head_size), kH200);
      EXPECT_TRUE(status.ok()) << status;
    }
  }
}

struct Change {
  const char* what;
  void (*apply)(PlanShape& shape);
};

constexpr Change kChanges[] = {
    {"nothing is masked", [](PlanShape& shape) { shape.mask = Mask::kFull; }},
    {"as many keys as queries", [](PlanShape& shape) { shape.mask = Mask::kCausal; }},
    {"float16", [](PlanShape& shape) { shape.attention.type = ElementType::kFloat16; }},
    {"a window", [](PlanShape& shape) { shape.attention.sliding_window = 700; }},
    {"the longest window",
     [](PlanShape& shape) {
       shape.attention.sliding_window = std::numeric_limits<uint32_t>::max();
     }},
    {"64 query heads",
     [](PlanShape& shape) {
       shape.attention.query_heads = 64;
       shape.query_stride = int64_t{64} * 128;
       shape.log_sum_exp_stride = 64;
     }},
    {"one KV head of eight",
     [](PlanShape& shape) {
       shape.attention.query_heads = 4;
       shape.attention.kv_heads = 1;
     }},
    {"a whole packing",
     [](PlanShape& shape) {
       shape.sequences = kMostSequences;
       shape.queries = 1 << 17;
       shape.keys = 1 << 17;
     }},
};

TEST_F(CudnnPlannerTest, WhatTheEngineAsksForHasAKernel) {
  for (const Change& change : kChanges) {
    for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
      PlanShape shape = ShapeOf(pass, 128);
      change.apply(shape);
      const absl::Status status = CheckCudnnPlan(OnLadder(shape), kH200);
      EXPECT_TRUE(status.ok()) << change.what << ": " << status;
    }
  }
}

struct RunHeads {
  uint32_t query;
  uint32_t kv;
  // That the rows of queries have, and those of gradients of keys; those of sums have
  // the run's.
  int64_t of_queries;
  int64_t of_key_gradients;
  int64_t sequences = 1;
};

// All heads, those of a part in rows of theirs alone and in rows of all, and heads that
// share no keys.
constexpr RunHeads kRunHeads[] = {{32, 8, 32, 8},  {32, 8, 32, 8, kMostSequences},
                                  {4, 1, 32, 1},   {8, 2, 32, 2, 64},
                                  {4, 1, 32, 8},   {128, 8, 128, 8},
                                  {16, 1, 128, 1}, {32, 32, 32, 32, 16}};

TEST_F(CudnnPlannerTest, ABackwardRunTakesWhatIsCountedForIt) {
  for (const RunHeads& heads : kRunHeads) {
    PlanShape shape = ShapeOf(Pass::kBackward, 128);
    shape.attention.query_heads = heads.query;
    shape.attention.kv_heads = heads.kv;
    shape.sequences = heads.sequences;
    shape.queries = shape.keys = shape.all_queries = shape.all_keys = 1 << 17;
    shape.query_stride = 128 * heads.of_queries;
    shape.log_sum_exp_stride = heads.query;
    shape.key_gradient_stride = 128 * heads.of_key_gradients;
    shape = OnLadder(shape);
    const absl::StatusOr<CudnnMemory> taken = CudnnWorkspace(shape, kH200);
    ASSERT_TRUE(taken.ok()) << taken.status();
    EXPECT_NEAR(static_cast<double>(taken->bytes()) /
                    static_cast<double>(BackwardWorkspace(shape)),
                1, 1e-3)
        << heads.query << ":" << heads.kv << " heads among " << heads.of_queries;
  }
}

// Rows that are as wide as a trainer likes, in steps of 16 bytes.
TEST_F(CudnnPlannerTest, CudnnsOwnPartOfAWorkspaceBeginsAligned) {
  struct Rows {
    uint32_t query_heads;
    int64_t query_stride;
  };
  for (const Rows& rows : {Rows{32, 32 * 128}, Rows{7 * 4, 28 * 128},
                           Rows{7 * 4, 56 * 128}, Rows{28, 28 * 128 + 8}}) {
    for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
      PlanShape shape = ShapeOf(pass, 128);
      shape.attention.query_heads = rows.query_heads;
      shape.attention.kv_heads = 4;
      shape.query_stride = rows.query_stride;
      shape.log_sum_exp_stride = rows.query_heads;
      const absl::StatusOr<CudnnMemory> memory = CudnnWorkspace(OnLadder(shape), kH200);
      ASSERT_TRUE(memory.ok()) << memory.status();
      EXPECT_EQ((memory->free + memory->frontend) % 256, 0U) << rows.query_stride;
    }
  }
}

// An H200 of another compute capability.
std::string DeviceOf(int generation) {
  std::string properties = kH200;
  const std::string version = R"("deviceVer": 900)";
  properties.replace(properties.find(version), version.size(),
                     absl::StrCat(R"("deviceVer": )", generation * 10));
  return properties;
}

// For which cuDNN has no kernels of large heads backward before 9.23.
std::string Blackwell() { return DeviceOf(100); }

TEST_F(CudnnPlannerTest, AHeadSizeWithoutABackwardKernelIsRefusedBeforeTheFirstPass) {
  for (const uint32_t head_size : {64U, 128U, 192U, 256U}) {
    const PlanShape backward = ShapeOf(Pass::kBackward, head_size);
    const absl::Status there = CheckCudnnShape(backward.attention, Blackwell());
    if (CheckCudnnPlan(backward, Blackwell()).ok()) {
      EXPECT_TRUE(there.ok()) << there;
      continue;
    }
    EXPECT_GT(head_size, 128U);
    EXPECT_EQ(there.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(there.message(),
                AllOf(HasSubstr(absl::StrCat("shape.head_size: ", head_size,
                                             " is not accepted; accepted: up to 128")),
                      HasSubstr("compute capability 10.0")));
  }
}

// Workstations', which have forward kernels.
TEST_F(CudnnPlannerTest, ADeviceWithoutBackwardKernelsIsRefusedBeforeTheFirstPass) {
  for (const int generation : {120, 121}) {
    const std::string device = DeviceOf(generation);
    for (const uint32_t head_size : {64U, 128U, 192U, 256U}) {
      const PlanShape backward = ShapeOf(Pass::kBackward, head_size);
      const absl::Status there = CheckCudnnShape(backward.attention, device);
      if (CheckCudnnPlan(backward, device).ok()) {
        EXPECT_TRUE(there.ok()) << there;
        continue;
      }
      EXPECT_EQ(there.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(
          there.message(),
          AllOf(HasSubstr(absl::StrCat("shape.head_size: ", head_size,
                                       " is not accepted; accepted: none on this")),
                HasSubstr("compute capability 12.")));
    }
  }
}

TEST_F(CudnnPlannerTest, SmallHeadsHaveKernelsOfBothPassesOnBlackwell) {
  for (const uint32_t head_size : {64U, 128U}) {
    for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
      const absl::Status status = CheckCudnnPlan(ShapeOf(pass, head_size), Blackwell());
      EXPECT_TRUE(status.ok()) << status;
    }
  }
}

TEST_F(CudnnPlannerTest, LargeHeadsAreAcceptedWhereTheyHaveKernels) {
  for (const uint32_t head_size : {192U, 256U}) {
    const absl::Status status =
        CheckCudnnShape(ShapeOf(Pass::kBackward, head_size).attention, kH200);
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST_F(CudnnPlannerTest, AShapeWithoutAKernelIsNamed) {
  const absl::Status status = CheckCudnnPlan(ShapeOf(Pass::kForward, 100), kH200);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("forward of 16 sequences"),
                                      HasSubstr("32:8 heads of 100")));
}

TEST_F(CudnnPlannerTest, PropertiesThatCanNotBeReadAreRefused) {
  for (const std::string properties : {"", "{", "[]", R"({"deviceName": 3})"}) {
    const absl::Status status =
        CheckCudnnPlan(ShapeOf(Pass::kForward, 128), properties);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << properties;
    EXPECT_THAT(status.message(), HasSubstr("a device's properties")) << properties;
  }
}

}  // namespace
}  // namespace evenpack::worker
