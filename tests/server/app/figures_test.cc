#include "server/app/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tests/testing/awaited.h"
#include "tests/testing/certificates.h"
#include "tests/testing/control_room.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/shared_server.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

using testing::Awaited;
using testing::CertificateFile;
using testing::ControlRoom;
using testing::DoIngest;
using testing::IsOk;
using testing::KeyFile;
using testing::MakeSpec;
using testing::ScratchDirectory;
using testing::SharedMemory;
using testing::SharedServer;

class SilentCall final : public DrainableCall {
 public:
  void Drain() override {}
};

TEST(FiguresTest, AreGatheredFromTheRooms) {
  ControlRoom room;
  JobRegistry jobs(room.environment(), 10);
  StreamCalls calls{LiveCalls(5), LiveCalls(5), LiveCalls(5)};
  ErrorCounts errors;
  const ScratchDirectory folder;
  ServerOptions options;
  options.tls_certificate = CertificateFile("server");
  options.tls_key = KeyFile("server");
  options.roles = folder.File("roles.yaml");
  std::ofstream(options.roles) << "grants: []\n";
  const auto security = ServerSecurity::Open(options);
  ASSERT_THAT(security, IsOk());
  CallQuotas quotas(QuotaLimits{}, [](const std::string&) { return true; });
  const Figures figures(jobs, room.committer(), room.store(), calls, errors,
                        quotas.held, security->get());
  EXPECT_TRUE(figures.Jobs().empty());
  EXPECT_EQ(figures.Server().store_commits, 0U);
  EXPECT_FALSE(figures.Server().store_away);

  for (const char* name : {"b", "a"}) {
    const Awaited<absl::StatusOr<JobStatus>> created;
    jobs.Create(name, CreateJob{MakeSpec(PolicyKind::kOriginal, 4, 100)}, created);
    ASSERT_THAT(created.Get(), IsOk());
  }
  ASSERT_THAT(DoIngest(*jobs.Find("a").value(), 0, {10, 20}), IsOk());
  room.store().FailCommits(2);
  EXPECT_FALSE(DoIngest(*jobs.Find("a").value(), 2, {30}).ok());
  const auto ended = std::make_shared<SilentCall>();
  ASSERT_TRUE(calls.ingest.Add(ended));
  ASSERT_TRUE(calls.ingest.Add(std::make_shared<SilentCall>()));
  calls.ingest.Remove(ended);
  ASSERT_TRUE(calls.steps.Add(std::make_shared<SilentCall>()));
  ASSERT_TRUE(calls.groups.Add(std::make_shared<SilentCall>()));
  errors.Count(absl::AbortedError("x"));
  EXPECT_FALSE((*security)->access()->Decide({}, "GetJob", {"a"}).ok());
  quotas.held.CountRefusal(Quota::kJobStepStreams);
  room.committer().Stop();

  const std::vector<JobFigures> of_jobs = figures.Jobs();
  ASSERT_EQ(of_jobs.size(), 2U);
  EXPECT_EQ(of_jobs[0].job, "b") << "the older first";
  EXPECT_EQ(of_jobs[1].streams[0].documents_accepted, 2U);
  const ServerFigures server = figures.Server();
  EXPECT_EQ(server.ingest_streams, 1U);
  EXPECT_EQ(server.ingest_streams_opened, 2U);
  EXPECT_EQ(server.step_streams, 1U);
  EXPECT_EQ(server.step_streams_opened, 1U);
  EXPECT_EQ(server.group_streams, 1U);
  EXPECT_EQ(server.group_streams_opened, 1U);
  EXPECT_EQ(server.errors_by_code[10], 1U);
  EXPECT_EQ(server.denied_calls[0], 1U);
  EXPECT_EQ(server.certificate_expiry_seconds, (*security)->certificate_expiry());
  ASSERT_EQ(server.quota_refusals.size(), kQuotas);
  for (const auto& [quota, refusals] : server.quota_refusals) {
    EXPECT_EQ(refusals, quota == "max-job-step-streams" ? 1U : 0U) << quota;
  }
  EXPECT_EQ(server.store_commits, 3U);
  EXPECT_EQ(server.store_commit_failures, 2U);
  EXPECT_TRUE(server.store_away);
  EXPECT_EQ(server.store_records, 3U);
  EXPECT_GT(server.store_bytes, 0U);
}

TEST(FiguresTest, MovesAreThoseOfAStoreThatServersShare) {
  SharedMemory memory;
  SharedServer one(memory, "one:1");
  SharedServer two(memory, "two:2");
  for (const char* name : {"a", "b"}) ASSERT_THAT(one.Create(name), IsOk());
  memory.Move("a", &two.store());
  memory.AskToGive("b");
  one.Settle();
  two.Settle();
  memory.Move("a", nullptr);
  EXPECT_FALSE(one.WhereIs("a").ok());
  StreamCalls calls{LiveCalls(5), LiveCalls(5), LiveCalls(5)};
  ErrorCounts errors;
  const CallQuotas quotas(QuotaLimits{}, [](const std::string&) { return true; });
  const auto of = [&](SharedServer& server) {
    return Figures(server.jobs(), server.room().committer(), server.store(), calls,
                   errors, quotas.held, nullptr, &server.moves(), &server.directory())
        .Server();
  };
  EXPECT_EQ(of(one).jobs_lost, 1U);
  EXPECT_EQ(of(one).jobs_handed_over, 1U);
  EXPECT_EQ(of(one).leaderless_answers, 1U);
  EXPECT_EQ(of(two).jobs_taken, 2U);
}

}  // namespace
}  // namespace evenpack
