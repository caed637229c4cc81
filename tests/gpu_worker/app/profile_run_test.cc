#include "gpu_worker/app/profile_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/testing/file_bytes.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::ScratchDirectory;
using evenpack::testing::StatusIs;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

class ProfileRunTest : public ::testing::Test {
 protected:
  ProfileRunTest() {
    ProfileOptions& profile = options_.profile.options;
    profile.shape.query_heads = 2;
    profile.longest = 256;
    profile.most_exchange_bytes = 8192;
    profile.repetitions = {0, 1};
    options_.profile.name = "p";
  }
  absl::Status Run() {
    return RunProfile(options_, Clock::Steady(),
                      {[this](const std::string& text) { printed_ += text; },
                       [this](const std::string& address, const std::string& json) {
                         uploaded_.emplace_back(address, json);
                         return upload_status_;
                       }});
  }

  ScratchDirectory directory_;
  WorkerOptions options_;
  std::string printed_;
  std::vector<std::pair<std::string, std::string>> uploaded_;
  absl::Status upload_status_;
};

TEST_F(ProfileRunTest, PrintsATableAndWritesTheProfile) {
  options_.profile.output = directory_.File("p.json");
  options_.profile.hardware = "a machine";
  ASSERT_THAT(Run(), IsOk());
  EXPECT_THAT(printed_, HasSubstr("q_len"));
  EXPECT_THAT(printed_, HasSubstr("\n     256      256 "));
  EXPECT_THAT(printed_, HasSubstr("\n             8192 "));
  const nlohmann::json json =
      nlohmann::json::parse(evenpack::testing::FileBytes(options_.profile.output));
  EXPECT_EQ(json["name"], "p");
  EXPECT_EQ(json["hardware"], "a machine");
  EXPECT_THAT(json["kernel"].get<std::string>(), HasSubstr("CpuAttention"));
  EXPECT_GT(json["measured_unix_seconds"], 1'700'000'000);
  EXPECT_EQ(json["forward"]["slice_ns"].size(), 4U);
  // How long it took is the machine's: attention_grid_test holds the clock still.
  EXPECT_TRUE(json["forward"]["slice_ns"][3].is_number_integer());
  EXPECT_EQ(json["collectives"][0]["ranks"], 2);
}

TEST_F(ProfileRunTest, JsonIsTheProfileAlone) {
  options_.json = true;
  options_.profile.ranks = 1;
  ASSERT_THAT(Run(), IsOk());
  const nlohmann::json json = nlohmann::json::parse(printed_);
  EXPECT_NE(json["hardware"], "");
  EXPECT_EQ(json["collectives"].size(), 0U);
}

TEST_F(ProfileRunTest, UploadsWhatItPrints) {
  options_.json = true;
  options_.profile.upload = "packer:1";
  ASSERT_THAT(Run(), IsOk());
  ASSERT_EQ(uploaded_.size(), 1U);
  EXPECT_EQ(uploaded_[0].first, "packer:1");
  EXPECT_EQ(uploaded_[0].second, printed_);
  upload_status_ = absl::UnavailableError("gone");
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kUnavailable, "gone"));
}

TEST_F(ProfileRunTest, WhatAServerDoesNotTakeIsNotLost) {
  options_.profile.upload = "packer:1";
  upload_status_ = absl::UnavailableError("gone");
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kUnavailable, "gone"));
  ASSERT_EQ(uploaded_.size(), 1U);
  EXPECT_THAT(printed_, EndsWith("\n\n" + uploaded_[0].second));
  printed_.clear();
  options_.profile.output = directory_.File("p.json");
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kUnavailable, "gone"));
  EXPECT_THAT(printed_, Not(HasSubstr("{"))) << "it is in the file";
}

TEST_F(ProfileRunTest, WhatAFileDoesNotTakeIsNotLost) {
  options_.profile.output = "/dev/full";
  options_.profile.upload = "packer:1";
  const auto full =
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("No space left"));
  EXPECT_THAT(Run(), full);
  ASSERT_EQ(uploaded_.size(), 1U);
  EXPECT_THAT(printed_, HasSubstr("profile p is on packer:1"));
  EXPECT_THAT(printed_, EndsWith("\n\n" + uploaded_[0].second));
  upload_status_ = absl::UnavailableError("gone");
  printed_.clear();
  EXPECT_THAT(Run(), full) << "the first error";
  EXPECT_THAT(printed_, EndsWith("\n\n" + uploaded_[1].second));
  options_.profile.upload.clear();
  options_.json = true;
  printed_.clear();
  EXPECT_THAT(Run(), full);
  EXPECT_EQ(nlohmann::json::parse(printed_)["name"], "p") << "once";
}

TEST_F(ProfileRunTest, AFileThatCanNotBeWrittenIsNamed) {
  options_.profile.output = directory_.File("none/p.json");
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kInvalidArgument,
                              HasSubstr("--output: '" + options_.profile.output)));
  EXPECT_EQ(printed_, "") << "before anything is measured";
}

}  // namespace
}  // namespace evenpack::worker
