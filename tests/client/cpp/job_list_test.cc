#include "client/cpp/job_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "evenpack/v1/packing_service.pb.h"
#include "tests/client/cpp/fake_stub.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::FakeStub;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::Return;
using ::testing::StrictMock;

v1::GetJobResponse Held(const std::string& name) {
  v1::GetJobResponse response;
  response.mutable_job()->set_name(name);
  return response;
}

MATCHER_P(Names, name, "asks for the job") { return arg.name() == name; }

class JobListTest : public ::testing::Test {
 protected:
  void AddElsewhere(const std::string& name, const std::string& address) {
    v1::JobPlace& place = *listed_.add_led_elsewhere();
    place.set_name(name);
    place.set_address(address);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const v1::Job& job : listed_.jobs()) names.push_back(job.name());
    return names;
  }
  std::vector<std::pair<std::string, std::string>> broken() const {
    std::vector<std::pair<std::string, std::string>> broken;
    for (const v1::BrokenJob& job : listed_.broken_jobs()) {
      broken.emplace_back(job.name(), job.error());
    }
    return broken;
  }

  StrictMock<FakeStub> stub_;
  v1::ListJobsResponse listed_;
};

TEST_F(JobListTest, JobsOfOthersAreFetchedInTheirPlace) {
  for (const char* name : {"b", "d"}) listed_.add_jobs()->set_name(name);
  AddElsewhere("a", "x:1");
  AddElsewhere("c", "y:1");
  EXPECT_CALL(stub_, GetJob(Names("a"), _)).WillOnce(Return(Held("a")));
  EXPECT_CALL(stub_, GetJob(Names("c"), _)).WillOnce(Return(Held("c")));
  AddJobsLedElsewhere(stub_, {}, listed_);
  EXPECT_THAT(names(), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(broken(), ElementsAre());
  EXPECT_EQ(listed_.led_elsewhere_size(), 2);
}

TEST_F(JobListTest, WhatCannotBeAskedIsListedWithWhyAndItsServerAskedOnce) {
  listed_.add_broken_jobs()->set_name("c");
  AddElsewhere("a", "x:1");
  AddElsewhere("b", "x:1");
  AddElsewhere("d", "y:1");
  AddElsewhere("e", "");
  EXPECT_CALL(stub_, GetJob(Names("a"), _))
      .WillOnce(Return(absl::UnavailableError("refused")));
  EXPECT_CALL(stub_, GetJob(Names("d"), _)).WillOnce(Return(Held("d")));
  EXPECT_CALL(stub_, GetJob(Names("e"), _))
      .WillOnce(Return(absl::UnavailableError("no leader")));
  AddJobsLedElsewhere(stub_, {}, listed_);
  EXPECT_THAT(names(), ElementsAre("d"));
  EXPECT_THAT(
      broken(),
      ElementsAre(Pair("a", "led by x:1: refused"),
                  Pair("b", "led by x:1: not asked again after job 'a': refused"),
                  Pair("c", ""), Pair("e", "no server leads it just now: no leader")));
}

TEST_F(JobListTest, AJobThatWasDeletedMeanwhileIsNone) {
  AddElsewhere("a", "x:1");
  EXPECT_CALL(stub_, GetJob(_, _)).WillOnce(Return(absl::NotFoundError("no job")));
  AddJobsLedElsewhere(stub_, {}, listed_);
  EXPECT_THAT(names(), ElementsAre());
  EXPECT_THAT(broken(), ElementsAre());
}

}  // namespace
}  // namespace evenpack::client
