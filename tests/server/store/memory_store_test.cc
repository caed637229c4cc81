#include "tests/testing/memory_store.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/server/store/state_store_parity.h"

namespace evenpack::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Memory, StateStoreParityTest, ::testing::Values([] {
                           return std::make_unique<MemoryStore>();
                         }));

}  // namespace
}  // namespace evenpack::testing
