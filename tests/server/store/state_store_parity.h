// What every StateStore does alike. A store's own test instantiates the suite:
//
//   INSTANTIATE_TEST_SUITE_P(Memory, StateStoreParityTest,
//                            ::testing::Values([] { return ...an empty store...; }));
#ifndef EVENPACK_TESTS_SERVER_STORE_STATE_STORE_PARITY_H_
#define EVENPACK_TESTS_SERVER_STORE_STATE_STORE_PARITY_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/store/state_store.h"

namespace evenpack::testing {

// An empty store.
using StoreFactory = std::function<std::unique_ptr<StateStore>()>;

class StateStoreParityTest : public ::testing::TestWithParam<StoreFactory> {
 protected:
  absl::Status Commit(const std::vector<StoreWrite>& writes) {
    return store_->Commit(writes);
  }

  const std::unique_ptr<StateStore> store_ = GetParam()();
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_SERVER_STORE_STATE_STORE_PARITY_H_
