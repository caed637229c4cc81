#include "tests/testing/shared_server.h"

#include <gtest/gtest.h>

#include <chrono>

#include "tests/testing/awaited.h"
#include "tests/testing/test_job.h"

namespace evenpack::testing {

SharedServer::SharedServer(SharedMemory& memory, const std::string& address)
    : store_(memory) {
  const absl::Status joined = store_.Join(address, moves_);
  EXPECT_TRUE(joined.ok()) << joined;
  directory_.Open([this](const std::string& job) { moves_.Find(job); });
}

SharedServer::~SharedServer() {
  room_.store().Release();
  store_.StepDown();
  moves_.Stop();
  directory_.Close();
}

absl::Status SharedServer::Create(const std::string& name) {
  JobSpec spec = MakeSpec(PolicyKind::kOriginal, 4, 100);
  spec.data_parallel = 2;
  const Awaited<absl::StatusOr<JobStatus>> done;
  jobs_.Create(name, CreateJob{spec}, done);
  return done.Get().status();
}

void SharedServer::Settle() { moves_.Await(std::chrono::minutes(4)); }

absl::Status SharedServer::WhereIs(const std::string& job) {
  const Awaited<absl::Status> told;
  directory_.WhereIs(job, told);
  return told.Get();
}

}  // namespace evenpack::testing
