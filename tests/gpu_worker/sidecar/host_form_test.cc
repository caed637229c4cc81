#include "gpu_worker/sidecar/host_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gpu_worker/arena/ring.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::OfStep;
using evenpack::testing::Ring;

TEST(HostFormTest, ItsArenasAreInTheProcessesMemory) {
  const HostForm form({});
  const ArenaMaker arenas = form.ArenasOf(5000);
  EXPECT_EQ(arenas.kind, ArenaKind::kHost);
  EXPECT_EQ(arenas.max_bytes, 5000U);
  const auto arena = arenas.make(1000);
  ASSERT_THAT(arena, IsOk());
  EXPECT_EQ(arena->data_bytes(), 1000U);
}

TEST(HostFormTest, WhatItsSessionsExecuteIsDone) {
  const auto seat = HostForm({}).OpenSeat(1000);
  ASSERT_THAT(seat, IsOk());
  EXPECT_EQ(&(*seat)->device(), &Device::Host());
  Ring ring;
  const auto completions = (*seat)->CompletionsOf(ring.reader);
  ASSERT_THAT(ring.writer.Submit(OfStep(1)), IsOk());
  ASSERT_THAT(ring.reader.Next(), IsOk());
  completions->Add(absl::OkStatus());
  EXPECT_EQ(ring.reader.completed(), 1U);
}

}  // namespace
}  // namespace evenpack::worker
