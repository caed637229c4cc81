#include "server/service/admission.h"

#include <evenpack/v1/cost_profile.pb.h>
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_split.h"
#include "server/access/access_control.h"
#include "server/access/method_rules.h"
#include "server/runtime/status_detail.h"
#include "tests/server/service/service_spec.h"
#include "tests/server/service/test_server.h"
#include "tests/testing/awaited.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::Awaited;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::ServiceSpec;
using testing::StatusIs;
using testing::TestServer;

constexpr char kToken[] = "a-token";

Roles RolesOf(Role role, const std::string& jobs) {
  return {{{role, {jobs}, {}, {{"name", HashOfToken(kToken)}}}}};
}

std::vector<const google::protobuf::MethodDescriptor*> MethodsOfTheApi() {
  std::vector<const google::protobuf::MethodDescriptor*> methods;
  for (const auto* file : {v1::GetJobRequest::descriptor()->file(),
                           v1::GetCostProfileRequest::descriptor()->file()}) {
    for (int i = 0; i < file->service_count(); ++i) {
      for (int j = 0; j < file->service(i)->method_count(); ++j) {
        methods.push_back(file->service(i)->method(j));
      }
    }
  }
  return methods;
}

// The field that a path leads to; null where there is none.
const google::protobuf::FieldDescriptor* FieldAt(
    const google::protobuf::Descriptor* message, const std::string& path) {
  const google::protobuf::FieldDescriptor* field = nullptr;
  for (const std::string& name : std::vector<std::string>(absl::StrSplit(path, '.'))) {
    if (message == nullptr) return nullptr;
    field = message->FindFieldByName(name);
    if (field == nullptr) return nullptr;
    message = field->message_type();
  }
  return field;
}

TEST(AdmissionTest, EveryCallOfTheApiHasARuleAndEveryRuleACall) {
  std::set<std::string> methods;
  for (const auto* method : MethodsOfTheApi()) {
    EXPECT_TRUE(methods.insert(method->name()).second) << method->full_name();
    EXPECT_EQ(method->input_type()->name(), method->name() + "Request");
    EXPECT_NE(FindMethodRule(method->name()), nullptr)
        << method->full_name() << ": give it a role in method_rules.cc";
  }
  EXPECT_EQ(methods.size(), MethodRules().size());
}

TEST(AdmissionTest, RulesNameTheFieldsThatHoldJobs) {
  for (const auto* method : MethodsOfTheApi()) {
    const MethodRule* const rule = FindMethodRule(method->name());
    ASSERT_NE(rule, nullptr);
    for (const std::string_view path : rule->job_fields) {
      if (path.empty()) continue;
      const auto* const field = FieldAt(method->input_type(), std::string(path));
      ASSERT_NE(field, nullptr) << method->name() << " " << path;
      EXPECT_EQ(field->type(), google::protobuf::FieldDescriptor::TYPE_STRING);
    }
  }
}

Caller CallerWith(std::string_view authorization) {
  return CallerOf({&authorization, 1});
}

TEST(AdmissionTest, ATokenComesBehindBearer) {
  EXPECT_FALSE(CallerOf({}).authorized);
  EXPECT_FALSE(CallerWith("").authorized);
  for (const char* authorization :
       {"Bearer a-token", "bearer a-token", "BEARER  a-token "}) {
    const Caller caller = CallerWith(authorization);
    EXPECT_TRUE(caller.authorized);
    EXPECT_EQ(caller.token, HashOfToken(kToken)) << authorization;
  }
  for (const char* authorization : {"a-token", "Bearer", "Bearer ", "Bearera-token",
                                    "Basic a-token", " Bearer x"}) {
    const Caller caller = CallerWith(authorization);
    EXPECT_TRUE(caller.authorized);
    EXPECT_EQ(caller.token, std::nullopt) << authorization;
  }
}

TEST(AdmissionTest, SeveralAuthorizationsAreNoToken) {
  using Two = std::array<std::string_view, 2>;
  for (const Two& both : {Two{"Bearer a-token", "Bearer other"},
                          {"Bearer a-token", "Bearer a-token"},
                          {"", "Bearer a-token"}}) {
    const Caller caller = CallerOf(both);
    EXPECT_TRUE(caller.authorized);
    EXPECT_EQ(caller.token, std::nullopt);
  }
}

class AdmissionOfRolesTest : public ::testing::Test {
 protected:
  ServiceEnvironment Environment() {
    ServiceEnvironment environment = server_.environment();
    environment.access = &access_;
    return environment;
  }
  template <typename Request>
  absl::Status AdmitTo(const std::string& field, const std::string& job) {
    Request request;
    request.GetReflection()->SetString(
        &request, request.GetDescriptor()->FindFieldByName(field), job);
    return Admit(Environment(), CallerWith("Bearer a-token"), request);
  }

  TestServer server_;
  AccessControl access_{RolesOf(Role::kOperator, "mine*")};
};

TEST_F(AdmissionOfRolesTest, JobsAreThoseThatTheRequestNames) {
  EXPECT_THAT(AdmitTo<v1::GetJobRequest>("name", "mine"), IsOk());
  EXPECT_FALSE(AdmitTo<v1::GetJobRequest>("name", "other").ok());
  EXPECT_THAT(AdmitTo<v1::GetStepRequest>("job", "mine"), IsOk());
  EXPECT_FALSE(AdmitTo<v1::GetStepRequest>("job", "other").ok());
  v1::ForkJobRequest fork;
  fork.set_name("mine");
  EXPECT_FALSE(Admit(Environment(), CallerWith("Bearer a-token"), fork).ok());
  fork.set_new_name("mine-2");
  EXPECT_THAT(Admit(Environment(), CallerWith("Bearer a-token"), fork), IsOk());
}

TEST_F(AdmissionOfRolesTest, AHandlerIsNotCalledForWhoMayNot) {
  v1::CreateJobRequest request;
  request.set_name("other");
  *request.mutable_spec() = ServiceSpec();
  v1::CreateJobResponse response;
  const Awaited<absl::Status> denied;
  HandleAdmitted(Environment(), CallerWith("Bearer a-token"), request, response,
                 denied);
  EXPECT_EQ(DetailOf(denied.Get()).reason, "ROLE_MISSING");
  EXPECT_THAT(server_.jobs().List("", 10), IsEmpty());
  request.set_name("mine");
  const Awaited<absl::Status> made;
  HandleAdmitted(Environment(), CallerWith("Bearer a-token"), request, response, made);
  EXPECT_THAT(made.Get(), IsOk());
  EXPECT_EQ(server_.jobs().List("", 10).size(), 1U);
}

TEST_F(AdmissionOfRolesTest, AListHasFullPagesOfTheJobsThatAreSeen) {
  for (const char* name : {"a", "mine-1", "mine-2"}) {
    ASSERT_TRUE(server_.Create(name, ServiceSpec()).ok());
  }
  v1::ListJobsRequest request;
  request.set_page_size(1);
  std::vector<std::string> names;
  do {
    v1::ListJobsResponse response;
    const Awaited<absl::Status> listed;
    HandleAdmitted(Environment(), CallerWith("Bearer a-token"), request, response,
                   listed);
    ASSERT_THAT(listed.Get(), IsOk());
    ASSERT_EQ(response.jobs_size(), 1);
    names.push_back(response.jobs(0).name());
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty());
  EXPECT_THAT(names, ElementsAre("mine-1", "mine-2"));
}

TEST_F(AdmissionOfRolesTest, WithoutRolesNobodyIsAskedAnything) {
  const ServiceEnvironment open = server_.environment();
  v1::DeleteJobRequest request;
  EXPECT_THAT(Admit(open, {}, request), IsOk());
  EXPECT_EQ(JobsSeenBy(open, {}), nullptr);
  grpc::CallbackServerContext context;
  StreamAdmission stream(open, context, kIngestStream);
  EXPECT_THAT(stream.Open(), IsOk());
  EXPECT_THAT(stream.Name("any"), IsOk());
  EXPECT_THAT(stream.Recheck(), IsOk());
}

TEST_F(AdmissionOfRolesTest, AStreamOfNobodyDoesNotOpen) {
  grpc::CallbackServerContext context;
  StreamAdmission stream(Environment(), context, kIngestStream);
  EXPECT_THAT(stream.Open(),
              StatusIs(absl::StatusCode::kUnauthenticated, ::testing::_));
  EXPECT_THAT(stream.Recheck(), IsOk()) << "it has named nothing";
  EXPECT_FALSE(stream.Name("mine").ok());
  EXPECT_FALSE(stream.Recheck().ok());
}

}  // namespace
}  // namespace evenpack
