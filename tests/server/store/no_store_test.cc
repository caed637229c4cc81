#include "server/store/no_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::StatusIs;

TEST(NoStoreTest, WhatIsCommittedIsNotThereAfterwards) {
  NoStore store;
  const std::vector<StoreWrite> writes = {AppendRecord{"job", 0, "made"},
                                          WriteProfile{"profile", "costs"}};
  EXPECT_THAT(store.Commit(writes), IsOk());
  EXPECT_FALSE(store.Keeps());
  EXPECT_THAT(store.Jobs().value(), IsEmpty());
  EXPECT_THAT(store.Load("job").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("job")));
  EXPECT_THAT(store.Profiles().value(), IsEmpty());
}

}  // namespace
}  // namespace evenpack
