#include "client/cli/online/profile_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "evenpack/v1/cost_profile.pb.h"
#include "tests/client/cli/online/test_context.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::kInvalid;
using ::testing::Property;
using ::testing::Return;
using testing::ScratchDirectory;
using testing::StatusIs;
using testing::TestContext;

class ProfileCommandsTest : public ::testing::Test {
 protected:
  std::string File(const std::string& text) {
    std::ofstream(directory_.File("p.textproto")) << text;
    return directory_.File("p.textproto");
  }

  ScratchDirectory directory_;
  TestContext context_;
};

TEST_F(ProfileCommandsTest, PutSendsTheFileUnderItsNameOrAnother) {
  const std::string file = File("name: 'h100' kernel: 'k'");
  EXPECT_CALL(*context_.connection,
              PutCostProfile(Property(&v1::CostProfile::name, "h100")))
      .WillOnce(Return(absl::OkStatus()));
  EXPECT_THAT(
      RunProfilesPut({{"FILE", file}, {"--server", "packer:1"}}, context_.Get()),
      IsOk());
  EXPECT_EQ(context_.out.text(), "put profile h100\n");
  EXPECT_EQ(context_.servers.back(), "packer:1");
  TestContext json;
  EXPECT_CALL(*json.connection,
              PutCostProfile(Property(&v1::CostProfile::name, "other")))
      .WillOnce(Return(absl::OkStatus()));
  EXPECT_THAT(RunProfilesPut({{"FILE", file}, {"--name", "other"}, {"--json", "true"}},
                             json.Get()),
              IsOk());
  EXPECT_EQ(nlohmann::json::parse(json.out.text()),
            nlohmann::json({{"name", "other"}, {"put", true}}));
}

TEST_F(ProfileCommandsTest, PutRefusesABadFileBeforeItConnects) {
  EXPECT_THAT(RunProfilesPut({}, context_.Get()),
              StatusIs(kInvalid, HasSubstr("FILE is missing")));
  EXPECT_THAT(RunProfilesPut({{"FILE", File("nam: 'x'")}}, context_.Get()),
              StatusIs(kInvalid, HasSubstr("line 1, column 4")));
  EXPECT_TRUE(context_.servers.empty());
}

TEST_F(ProfileCommandsTest, ErrorsOfTheServerAreGiven) {
  EXPECT_CALL(*context_.connection, PutCostProfile)
      .WillOnce(Return(absl::InvalidArgumentError("profile.name: ''")));
  EXPECT_THAT(RunProfilesPut({{"FILE", File("")}}, context_.Get()),
              StatusIs(kInvalid, "profile.name: ''"));
  EXPECT_CALL(*context_.connection, GetCostProfile("none"))
      .WillOnce(Return(absl::NotFoundError("none")));
  EXPECT_THAT(RunProfilesDescribe({{"NAME", "none"}}, context_.Get()),
              StatusIs(absl::StatusCode::kNotFound, "none"));
  EXPECT_CALL(*context_.connection, DeleteCostProfile("none"))
      .WillOnce(Return(absl::NotFoundError("none")));
  EXPECT_THAT(RunProfilesDelete({{"NAME", "none"}}, context_.Get()),
              StatusIs(absl::StatusCode::kNotFound, "none"));
  EXPECT_EQ(context_.out.text(), "");
}

TEST_F(ProfileCommandsTest, ListDescribeAndDeleteWriteWhatTheServerAnswers) {
  v1::ListCostProfilesResponse listed;
  listed.add_profiles()->set_name("h100");
  EXPECT_CALL(*context_.connection, ListCostProfiles()).WillOnce(Return(listed));
  EXPECT_THAT(RunProfilesList({{"--json", "true"}}, context_.Get()), IsOk());
  EXPECT_EQ(nlohmann::json::parse(context_.out.text())["profiles"][0]["name"], "h100");
  EXPECT_CALL(*context_.connection, GetCostProfile("h100"))
      .WillOnce(Return(listed.profiles(0)));
  EXPECT_THAT(RunProfilesDescribe({{"NAME", "h100"}}, context_.Get()), IsOk());
  EXPECT_THAT(context_.out.text(), HasSubstr("profile    h100\n"));
  EXPECT_CALL(*context_.connection, DeleteCostProfile("h100"))
      .WillOnce(Return(absl::OkStatus()));
  EXPECT_THAT(RunProfilesDelete({{"NAME", "h100"}}, context_.Get()), IsOk());
  EXPECT_THAT(context_.out.text(), HasSubstr("deleted profile h100\n"));
}

}  // namespace
}  // namespace evenpack
