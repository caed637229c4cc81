#include "server/service/cost_profile_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/service/spec_conversion.h"
#include "tests/server/service/service_spec.h"
#include "tests/server/service/small_profile.h"
#include "tests/server/service/status_details.h"
#include "tests/server/service/test_server.h"
#include "tests/testing/awaited.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using grpc::ClientContext;
using grpc::StatusCode;
using ::testing::ElementsAre;
using testing::GrpcStatusIs;
using ::testing::HasSubstr;
using testing::IsGrpcOk;
using testing::RefusesField;
using testing::ServiceSpec;
using testing::SmallProfile;
using testing::TestServer;

class CostProfileCallsTest : public ::testing::Test {
 protected:
  grpc::Status Put(const v1::CostProfile& profile) {
    ClientContext context;
    v1::PutCostProfileRequest request;
    *request.mutable_profile() = profile;
    v1::PutCostProfileResponse response;
    return server_.profile_stub().PutCostProfile(&context, request, &response);
  }
  grpc::Status Get(const std::string& name, v1::CostProfile* profile = nullptr) {
    ClientContext context;
    v1::GetCostProfileRequest request;
    request.set_name(name);
    v1::GetCostProfileResponse response;
    grpc::Status status =
        server_.profile_stub().GetCostProfile(&context, request, &response);
    if (profile != nullptr) *profile = response.profile();
    return status;
  }
  grpc::Status List(const v1::ListCostProfilesRequest& request,
                    v1::ListCostProfilesResponse& response) {
    ClientContext context;
    return server_.profile_stub().ListCostProfiles(&context, request, &response);
  }
  grpc::Status Delete(const std::string& name) {
    ClientContext context;
    v1::DeleteCostProfileRequest request;
    request.set_name(name);
    v1::DeleteCostProfileResponse response;
    return server_.profile_stub().DeleteCostProfile(&context, request, &response);
  }
  // What the job decides adaptive sharding from.
  KernelLatencyTable TableOf(const std::string& job) {
    const testing::Awaited<absl::StatusOr<JobStatus>> status;
    server_.jobs().Find(job).value()->Describe(status);
    return status.Get()->spec->kernel_latency;
  }
  static KernelLatencyTable TableOf(const v1::CostProfile& profile) {
    return ReadKernelLatency(profile.forward()).value();
  }
  static v1::JobSpec AdaptiveSpec(const std::string& profile) {
    v1::JobSpec spec = ServiceSpec();
    spec.set_sharding(v1::SHARDING_ADAPTIVE);
    spec.mutable_cost()->set_profile(profile);
    return spec;
  }
  grpc::Status Update(const v1::JobSpec& spec) {
    ClientContext context;
    v1::UpdateJobRequest request;
    request.set_name("job");
    *request.mutable_spec() = spec;
    v1::UpdateJobResponse response;
    return server_.stub().UpdateJob(&context, request, &response);
  }

  TestServer server_;
};

TEST_F(CostProfileCallsTest, WhatWasPutIsGot) {
  const v1::CostProfile profile = SmallProfile("small");
  ASSERT_THAT(Put(profile), IsGrpcOk());
  v1::CostProfile got;
  ASSERT_THAT(Get("small", &got), IsGrpcOk());
  EXPECT_EQ(got.SerializeAsString(), profile.SerializeAsString());
  ASSERT_THAT(Put(SmallProfile("small", 7)), IsGrpcOk());
  ASSERT_THAT(Get("small", &got), IsGrpcOk());
  EXPECT_EQ(got.forward().slice_ns(0), 7);
  ASSERT_THAT(Delete("small"), IsGrpcOk());
  EXPECT_THAT(Get("small"), GrpcStatusIs(StatusCode::NOT_FOUND, "PROFILE_NOT_FOUND",
                                         HasSubstr("'small'")));
  EXPECT_THAT(Delete("small"), GrpcStatusIs(StatusCode::NOT_FOUND, "PROFILE_NOT_FOUND",
                                            HasSubstr("'small'")));
}

TEST_F(CostProfileCallsTest, APutNamesTheFieldThatItRefuses) {
  EXPECT_THAT(Put(v1::CostProfile()), RefusesField("profile.name"));
  EXPECT_THAT(Put(SmallProfile("no blanks")), RefusesField("profile.name"));
  v1::CostProfile profile = SmallProfile("small");
  profile.mutable_forward()->set_slice_ns(0, -1);
  EXPECT_THAT(Put(profile), RefusesField("profile.forward.slice_ns[0]"));
  EXPECT_THAT(Get("small"), GrpcStatusIs(StatusCode::NOT_FOUND, "PROFILE_NOT_FOUND",
                                         HasSubstr("'small'")));
}

TEST_F(CostProfileCallsTest, ListsPagesByNameWithoutTables) {
  for (const char* name : {"c", "a", "b"}) {
    ASSERT_THAT(Put(SmallProfile(name)), IsGrpcOk());
  }
  v1::ListCostProfilesRequest request;
  request.set_page_size(2);
  v1::ListCostProfilesResponse page;
  ASSERT_THAT(List(request, page), IsGrpcOk());
  ASSERT_EQ(page.profiles_size(), 2);
  EXPECT_EQ(page.profiles(0).name(), "a");
  EXPECT_EQ(page.profiles(0).hardware(), "a machine");
  EXPECT_EQ(page.profiles(0).heads().query_heads(), 4U);
  EXPECT_FALSE(page.profiles(0).has_forward());
  EXPECT_EQ(page.profiles(0).collectives_size(), 0);
  request.set_page_token(page.next_page_token());
  ASSERT_THAT(List(request, page), IsGrpcOk());
  ASSERT_EQ(page.profiles_size(), 1);
  EXPECT_EQ(page.profiles(0).name(), "c");
  EXPECT_EQ(page.next_page_token(), "");
  request.set_page_size(-1);
  EXPECT_THAT(List(request, page), RefusesField("page_size"));
}

TEST_F(CostProfileCallsTest, AJobKeepsWhatItReadOfAProfile) {
  ASSERT_THAT(Put(SmallProfile("small", 1000)), IsGrpcOk());
  ASSERT_THAT(server_.Create("job", AdaptiveSpec("small")), IsGrpcOk());
  const KernelLatencyTable first = TableOf(SmallProfile("small", 1000));
  EXPECT_EQ(TableOf("job"), first);
  ASSERT_THAT(Put(SmallProfile("small", 3000)), IsGrpcOk());
  EXPECT_EQ(TableOf("job"), first);
  EXPECT_EQ(server_.Get("job").spec().cost().profile(), "small");

  // An update reads it anew.
  ASSERT_THAT(Update(server_.Get("job").spec()), IsGrpcOk());
  const KernelLatencyTable second = TableOf(SmallProfile("small", 3000));
  EXPECT_EQ(TableOf("job"), second);
  ASSERT_THAT(Delete("small"), IsGrpcOk());
  EXPECT_EQ(TableOf("job"), second);
  EXPECT_THAT(Update(server_.Get("job").spec()),
              GrpcStatusIs(StatusCode::NOT_FOUND, "PROFILE_NOT_FOUND",
                           HasSubstr("spec.cost.profile: 'small'")));
}

TEST_F(CostProfileCallsTest, AProfileThatIsNotThereMakesNoJob) {
  EXPECT_THAT(server_.Create("job", AdaptiveSpec("none")),
              GrpcStatusIs(StatusCode::NOT_FOUND, "PROFILE_NOT_FOUND",
                           HasSubstr("spec.cost.profile: 'none'")));
  v1::JobSpec both = AdaptiveSpec("small");
  *both.mutable_cost()->mutable_kernel_latency() = SmallProfile("small").forward();
  EXPECT_THAT(server_.Create("job", both), RefusesField("spec.cost.profile"));
}

TEST_F(CostProfileCallsTest, ForksAndRestoresNeedTheProfileNoMore) {
  ASSERT_THAT(Put(SmallProfile("small")), IsGrpcOk());
  v1::JobSpec spec = AdaptiveSpec("small");
  spec.mutable_retention()->set_checkpoints(10);
  ASSERT_THAT(server_.Create("job", spec), IsGrpcOk());
  ASSERT_THAT(testing::DoIngest(*server_.jobs().Find("job").value(), 0,
                                std::vector<uint32_t>(24, 50)),
              testing::IsOk());
  ASSERT_THAT(Delete("small"), IsGrpcOk());
  {
    ClientContext context;
    v1::ForkJobRequest request;
    request.set_name("job");
    request.set_new_name("fork");
    request.set_step(1);
    v1::ForkJobResponse response;
    ASSERT_THAT(server_.stub().ForkJob(&context, request, &response), IsGrpcOk());
    EXPECT_EQ(response.job().spec().cost().profile(), "small");
  }
  EXPECT_EQ(TableOf("fork"), TableOf("job"));
  // Without a spec a rewind keeps that of the step.
  ClientContext context;
  v1::RewindJobRequest request;
  request.set_name("job");
  request.set_from_step(1);
  v1::RewindJobResponse response;
  ASSERT_THAT(server_.stub().RewindJob(&context, request, &response), IsGrpcOk());
  EXPECT_EQ(TableOf("job"), TableOf(SmallProfile("small")));
  *request.mutable_spec() = spec;
  ClientContext again;
  EXPECT_THAT(server_.stub().RewindJob(&again, request, &response),
              GrpcStatusIs(StatusCode::NOT_FOUND, "PROFILE_NOT_FOUND",
                           HasSubstr("spec.cost.profile: 'small'")));
}

TEST_F(CostProfileCallsTest, AStoreThatFailsIsTold) {
  server_.room().store().FailCommitsOf("small");
  EXPECT_THAT(
      Put(SmallProfile("small")),
      GrpcStatusIs(StatusCode::UNAVAILABLE, "STORE_FAILED", HasSubstr("not stored")));
  EXPECT_EQ(server_.errors().Figures()[static_cast<size_t>(StatusCode::UNAVAILABLE)],
            1U);
}

}  // namespace
}  // namespace evenpack
