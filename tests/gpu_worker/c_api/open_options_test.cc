#include "gpu_worker/c_api/open_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "server/core/digest/digest_bytes.h"
#include "tests/gpu_worker/c_api/accepted_options.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::StartsWith;

TEST(OpenOptionsTest, WhatIsZeroIsTheDefault) {
  const EvenpackWorkerOptions given = AcceptedOptions();
  const auto read = ReadOptions(&given);
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(read->client.address, "packer:7654");
  EXPECT_EQ(read->client.security, client::Security());
  EXPECT_EQ(read->client.backoff.total, std::chrono::minutes(10));
  EXPECT_EQ(read->worker.steps.job, "run-7");
  EXPECT_EQ(read->worker.steps.cp_rank, 0U);
  EXPECT_EQ(read->worker.steps.from_step, 0U);
  EXPECT_FALSE(read->worker.steps.last_digest.has_value());
  EXPECT_FALSE(read->worker.steps.sends_durable);
  EXPECT_EQ(read->worker.shape, (AttentionShape{ElementType::kBfloat16, 32, 8, 128}));
  EXPECT_EQ(read->worker.executor.head_groups, ExecutorOptions().head_groups);
  EXPECT_EQ(read->worker.patience, kDefaultPatience);
  ASSERT_TRUE(read->form.cuda.has_value());
  EXPECT_EQ(read->form.cuda->rank.device, 0);
  EXPECT_EQ(read->form.cuda->rank.budget, CudaRankOptions().budget);
}

TEST(OpenOptionsTest, WhatIsSetIsTaken) {
  EvenpackWorkerOptions given = AcceptedOptions();
  std::array<unsigned char, 16> digest{};
  digest[9] = 5;
  given.dp_rank = 3;
  given.cp_rank = 1;
  given.from_step = 120;
  given.last_digest = digest.data();
  given.member = "host-9/1";
  given.sends_durable = 1;
  given.scale = 0.5F;
  given.sliding_window = 4096;
  given.head_groups = 2;
  given.device = -1;
  given.threads = 6;
  given.host = "10.0.0.7";
  given.connect_timeout_ms = 1500;
  given.exchange_timeout_ms = 2500;
  given.patience_ms = 3500;
  given.ca_file = "/ca.pem";
  given.token_file = "/token";
  given.server_timeout_ms = 4500;
  const auto read = ReadOptions(&given);
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(read->worker.steps.dp_rank, 3U);
  EXPECT_EQ(read->worker.steps.cp_rank, 1U);
  EXPECT_EQ(read->worker.steps.from_step, 120U);
  EXPECT_EQ(read->worker.steps.last_digest, (Digest128{0, 5 << 8}));
  EXPECT_EQ(read->worker.member, "host-9/1");
  EXPECT_TRUE(read->worker.steps.sends_durable);
  EXPECT_EQ(read->worker.shape,
            (AttentionShape{ElementType::kBfloat16, 32, 8, 128, 0.5F, 4096}));
  EXPECT_EQ(read->worker.executor.head_groups, 2U);
  EXPECT_FALSE(read->form.cuda.has_value());
  EXPECT_EQ(read->form.threads, 6U);
  EXPECT_EQ(read->form.group.host, "10.0.0.7");
  EXPECT_EQ(read->form.group.connect_timeout, std::chrono::milliseconds(1500));
  EXPECT_EQ(read->form.group.exchange_timeout, std::chrono::milliseconds(2500));
  EXPECT_EQ(read->worker.patience, std::chrono::milliseconds(3500));
  EXPECT_EQ(read->client.security.ca_file, "/ca.pem");
  EXPECT_EQ(read->client.security.token_file, "/token");
  EXPECT_EQ(read->client.backoff.total, std::chrono::milliseconds(4500));
}

TEST(OpenOptionsTest, ACallerThatDoesNotKnowOfTheLastFieldHasItsDefault) {
  EvenpackWorkerOptions given = AcceptedOptions();
  given.token_file = "/token";
  given.struct_size = offsetof(EvenpackWorkerOptions, server_timeout_ms);
  // Not the caller's memory.
  given.server_timeout_ms = 1;
  given.reserved = 1;
  const auto read = ReadOptions(&given);
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(read->client.security.token_file, "/token");
  EXPECT_EQ(read->client.backoff.total, std::chrono::minutes(10));
}

TEST(OpenOptionsTest, ANegativeStepIsTheFirstThatIsNotDurable) {
  EvenpackWorkerOptions given = AcceptedOptions();
  given.from_step = -1;
  EXPECT_EQ(ReadOptions(&given)->worker.steps.from_step, std::nullopt);
}

TEST(OpenOptionsTest, AMadeUpMemberHasNotBeenAnother) {
  const EvenpackWorkerOptions given = AcceptedOptions();
  const std::string member = ReadOptions(&given)->worker.member;
  EXPECT_THAT(member, StartsWith("process-"));
  EXPECT_NE(ReadOptions(&given)->worker.member, member);
}

TEST(OpenOptionsTest, RefusesByNameWhatCannotBe) {
  using Change = std::function<void(EvenpackWorkerOptions&)>;
  const std::pair<Change, const char*> cases[] = {
      {[](auto& o) { o.struct_size = 8; }, "options.struct_size: 8 is not"},
      {[](auto& o) { o.address = nullptr; }, "address: NULL is not"},
      {[](auto& o) { o.job = nullptr; }, "job: NULL is not"},
      {[](auto& o) { o.element_type = 0; }, "element_type: 0 is not"},
      {[](auto& o) { o.element_type = 9; }, "element_type: 9 is not"},
      {[](auto& o) { o.element_type = EVENPACK_FLOAT32; },
       "element_type: EVENPACK_FLOAT32 is not accepted; accepted: EVENPACK_BFLOAT16"},
      {[](auto& o) { o.kv_heads = 5; }, "kv_heads: 5 is not"},
      {[](auto& o) { o.head_size = 65; }, "head_size: 65 is not"},
      {[](auto& o) { o.head_groups = 2000; }, "head_groups: 2000 is not"},
      {[](auto& o) { o.device = -2; },
       "device: -2 is not accepted; accepted: -1 to 63"},
      {[](auto& o) { o.threads = 5000; }, "threads: 5000 is not"},
      {[](auto& o) { o.reserved = 1; }, "reserved: 1 is not accepted; accepted: 0"},
  };
  for (const auto& [change, message] : cases) {
    EvenpackWorkerOptions given = AcceptedOptions();
    change(given);
    EXPECT_THAT(ReadOptions(&given).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, StartsWith(message)));
  }
  EXPECT_THAT(
      ReadOptions(nullptr).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, StartsWith("options: NULL")));
}

}  // namespace
}  // namespace evenpack::worker
