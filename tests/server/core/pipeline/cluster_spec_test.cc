#include "server/core/pipeline/cluster_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "server/core/cost/named_models.h"
#include "tests/server/core/cost/refused_field.h"

namespace evenpack {
namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

ModelSpec SevenB() { return *NamedModel("7B"); }

ModelSpec Mixture() {
  ModelSpec model = SevenB();
  model.experts = 8;
  model.active_experts = 2;
  return model;
}

TEST(GpuCount, MultipliesAllKindsButExperts) {
  EXPECT_EQ(GpuCount(ClusterSpec{}), 1U);
  ClusterSpec cluster;
  cluster.tensor_parallel = 8;
  cluster.context_parallel = 2;
  cluster.pipeline_parallel = 4;
  cluster.data_parallel = 3;
  cluster.expert_parallel = 6;
  cluster.virtual_stages = 2;
  EXPECT_EQ(GpuCount(cluster), 192U);
  cluster.tensor_parallel = 1024;
  cluster.context_parallel = 1024;
  cluster.pipeline_parallel = 1024;
  cluster.data_parallel = 1024;
  EXPECT_EQ(GpuCount(cluster), uint64_t{1} << 40);
}

TEST(ValidateClusterSpec, AcceptsOneGpuAndWhatItsModelAllows) {
  EXPECT_TRUE(Validate(ClusterSpec{}, SevenB()).ok());
  ClusterSpec cluster;
  cluster.tensor_parallel = 32;
  cluster.context_parallel = 2;
  cluster.pipeline_parallel = 16;
  cluster.virtual_stages = 2;
  cluster.data_parallel = 1024;
  cluster.sync_domain = SyncDomain::kMicroBatch;
  cluster.context_overlap = 1;
  EXPECT_TRUE(Validate(cluster, SevenB()).ok()) << Validate(cluster, SevenB());
  cluster.expert_parallel = 8;
  EXPECT_TRUE(Validate(cluster, Mixture()).ok()) << Validate(cluster, Mixture());
}

TEST(ValidateClusterSpec, RefusesEachFieldOutOfItsRange) {
  struct Case {
    void (*spoil)(ClusterSpec&);
    const char* field;
    const char* value;
    const char* accepted;
  };
  const Case cases[] = {
      {[](ClusterSpec& c) { c.tensor_parallel = 0; }, "tensor_parallel", "0",
       "1 to 1024"},
      {[](ClusterSpec& c) { c.tensor_parallel = 1025; }, "tensor_parallel", "1025",
       "1 to 1024"},
      {[](ClusterSpec& c) { c.context_parallel = 0; }, "context_parallel", "0",
       "1 to 1024"},
      {[](ClusterSpec& c) { c.context_parallel = 1025; }, "context_parallel", "1025",
       "1 to 1024"},
      {[](ClusterSpec& c) { c.pipeline_parallel = 0; }, "pipeline_parallel", "0",
       "1 to 1024"},
      {[](ClusterSpec& c) { c.pipeline_parallel = 1025; }, "pipeline_parallel", "1025",
       "1 to 1024"},
      {[](ClusterSpec& c) { c.data_parallel = 0; }, "data_parallel", "0", "1 to 1024"},
      {[](ClusterSpec& c) { c.data_parallel = 1025; }, "data_parallel", "1025",
       "1 to 1024"},
      {[](ClusterSpec& c) { c.expert_parallel = 0; }, "expert_parallel", "0",
       "1 to 65536"},
      {[](ClusterSpec& c) { c.expert_parallel = 65537; }, "expert_parallel", "65537",
       "1 to 65536"},
      {[](ClusterSpec& c) { c.virtual_stages = 0; }, "virtual_stages", "0",
       "1 to 1024"},
      {[](ClusterSpec& c) { c.virtual_stages = 1025; }, "virtual_stages", "1025",
       "1 to 1024"},
      {[](ClusterSpec& c) { c.sync_domain = static_cast<SyncDomain>(2); },
       "sync_domain", "2", "0 (step) or 1 (micro_batch)"},
      {[](ClusterSpec& c) { c.network.gpus_per_node = 0; }, "gpus_per_node", "0",
       "1 to 1024"},
      {[](ClusterSpec& c) { c.peak_flops = 1e8; }, "peak_flops", "1e+08",
       "1e+09 to 1e+18"},
      {[](ClusterSpec& c) { c.peak_flops = 1e19; }, "peak_flops", "1e+19", "1e+18"},
      {[](ClusterSpec& c) { c.peak_flops = kNotANumber; }, "peak_flops", "nan",
       "1e+18"},
      {[](ClusterSpec& c) { c.matmul_fraction = 0; }, "matmul_fraction", "0",
       "above 0, at most 1"},
      {[](ClusterSpec& c) { c.matmul_fraction = 1.5; }, "matmul_fraction", "1.5",
       "above 0, at most 1"},
      {[](ClusterSpec& c) { c.matmul_fraction = kNotANumber; }, "matmul_fraction",
       "nan", "above 0, at most 1"},
      {[](ClusterSpec& c) { c.memory_bytes_per_second = 0; }, "memory_bytes_per_second",
       "0", "1 to 1e+15"},
      {[](ClusterSpec& c) { c.memory_bytes_per_second = kInfinity; },
       "memory_bytes_per_second", "inf", "1 to 1e+15"},
      {[](ClusterSpec& c) { c.memory_bytes_per_second = kNotANumber; },
       "memory_bytes_per_second", "nan", "1 to 1e+15"},
      {[](ClusterSpec& c) { c.context_overlap = -0.5; }, "context_overlap", "-0.5",
       "0 to 1"},
      {[](ClusterSpec& c) { c.context_overlap = 1.5; }, "context_overlap", "1.5",
       "0 to 1"},
      {[](ClusterSpec& c) { c.context_overlap = kNotANumber; }, "context_overlap",
       "nan", "0 to 1"},
  };
  for (const Case& c : cases) {
    ClusterSpec cluster;
    c.spoil(cluster);
    EXPECT_THAT(Validate(cluster, SevenB()),
                RefusesField(c.field, c.value, c.accepted));
  }
}

TEST(ValidateClusterSpec, RefusesWhatTheModelDoesNotAllow) {
  EXPECT_THAT(Validate(ClusterSpec{}, ModelSpec{}),
              RefusesField("model.layers", "0", "1 to"));
  ClusterSpec cluster;
  cluster.tensor_parallel = 33;
  EXPECT_THAT(Validate(cluster, SevenB()),
              RefusesField("tensor_parallel", "33", "at most the model's 32"));
  cluster = {};
  cluster.pipeline_parallel = 11;
  cluster.virtual_stages = 3;
  EXPECT_THAT(
      Validate(cluster, SevenB()),
      RefusesField("pipeline_parallel", "11",
                   "times the 3 virtual stages is at most the model's 32 layers"));
}

TEST(ValidateClusterSpec, RefusesExpertsThatTheRanksOrTheModelDoNotHave) {
  ClusterSpec cluster;
  cluster.context_parallel = 2;
  cluster.data_parallel = 12;
  cluster.expert_parallel = 5;
  EXPECT_THAT(Validate(cluster, Mixture()),
              RefusesField("expert_parallel", "5", "a divisor of the 24 ranks"));
  cluster.expert_parallel = 12;
  EXPECT_THAT(
      Validate(cluster, Mixture()),
      RefusesField("expert_parallel", "12", "at most 8, as model.experts is 8"));
  cluster.expert_parallel = 2;
  EXPECT_TRUE(Validate(cluster, Mixture()).ok());
  EXPECT_THAT(Validate(cluster, SevenB()),
              RefusesField("expert_parallel", "2", "at most 1, as model.experts is 0"));
}

}  // namespace
}  // namespace evenpack
