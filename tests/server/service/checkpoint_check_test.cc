#include "server/service/checkpoint_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "evenpack/v1/job.pb.h"
#include "server/core/engine/apply.h"
#include "server/core/engine/command.h"
#include "server/core/engine/decide.h"
#include "server/core/engine/job_state.h"
#include "server/core/engine/state_codec.h"
#include "server/service/spec_conversion.h"
#include "tests/server/service/service_spec.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::ServiceSpec;
using testing::StatusIs;

// Of a job whose first stream has the name, in the engine and as its creator said it.
std::string WithNames(const std::string& name, const std::string& described) {
  const CreateJob command = {FromProto(ServiceSpec()).value()};
  JobState state;
  Apply(Decide(state, command).value(), state);
  state.spec.streams[0].name = name;
  const std::string known = ServiceSpec().streams(0).name();
  std::string& description = state.spec.description;
  // As long, so that the message around it is as it was.
  EXPECT_EQ(described.size(), known.size());
  description.replace(description.find("\n" + std::string(1, '\1') + known) + 2,
                      known.size(), described);
  return EncodeState(state);
}

TEST(CheckpointCheckTest, OneOfAServerIsTaken) {
  const std::string name = ServiceSpec().streams(0).name();
  EXPECT_THAT(CheckCheckpoint(WithNames(name, name)), IsOk());
}

TEST(CheckpointCheckTest, StreamsThatNobodyCouldBeToldOfAreRefused) {
  const auto is_refused = StatusIs(absl::StatusCode::kInvalidArgument,
                                   HasSubstr("accepted: what CheckpointJob returned"));
  EXPECT_THAT(CheckCheckpoint(WithNames("\xff", "\xff")), is_refused);
  EXPECT_THAT(CheckCheckpoint(WithNames("\xff", "z")), is_refused);
  EXPECT_THAT(CheckCheckpoint(WithNames("y", "z")), is_refused);
}

TEST(CheckpointCheckTest, WhatIsNoneIsLeftToTheEngine) {
  for (const std::string bytes : {"", "state"}) {
    EXPECT_THAT(CheckCheckpoint(bytes), IsOk());
  }
}

}  // namespace
}  // namespace evenpack
