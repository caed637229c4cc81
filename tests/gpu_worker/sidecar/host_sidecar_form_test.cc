#include "gpu_worker/sidecar/host_sidecar_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;

TEST(HostSidecarFormTest, ArenasAndRanksAreInTheProcessesMemory) {
  const HostSidecarForm form;
  const ArenaMaker arenas = form.ArenasOf(5000);
  EXPECT_EQ(arenas.kind, ArenaKind::kHost);
  EXPECT_EQ(arenas.max_bytes, 5000U);
  const auto arena = arenas.make(1000);
  ASSERT_THAT(arena, IsOk());
  EXPECT_EQ(arena->data_bytes(), 1000U);
  const auto rank = form.OpenRank(1000);
  ASSERT_THAT(rank, IsOk());
  EXPECT_EQ(&(*rank)->device(), &Device::Host());
}

}  // namespace
}  // namespace evenpack::worker
