// A server whose store fails or hangs where a job is to be read.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "evenpack/v1/packing_service.grpc.pb.h"
#include "server/app/packing_server.h"
#include "tests/server/app/served_job.h"
#include "tests/server/web/raw_client.h"
#include "tests/testing/fault_store.h"
#include "tests/testing/memory_store.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::RawGet;

class PackingServerStoreTest : public ::testing::Test {
 protected:
  // What the store refuses then, it does from the start on.
  void Start(int failing_loads = 0) {
    auto store = std::make_unique<testing::FaultStore>(memory_);
    store_ = store.get();
    store_->FailLoads(failing_loads);
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    options.http_listen = "127.0.0.1:0";
    options.drain_seconds = 0;
    absl::StatusOr<std::unique_ptr<PackingServer>> server =
        PackingServer::StartOver(std::move(store), options);
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    stub_ = testing::StubAt(server_->grpc_address());
  }
  grpc::Status Create(const std::string& name) {
    return testing::CreateJobAt(*stub_, name);
  }
  grpc::Status Skip() {
    grpc::ClientContext context;
    v1::SkipDocumentsRequest request;
    request.set_name("job");
    v1::DocumentRange& range = *request.add_skip();
    range.set_stream("a");
    range.set_documents(1);
    v1::SkipDocumentsResponse response;
    return stub_->SkipDocuments(&context, request, &response);
  }
  grpc::Status Get() {
    grpc::ClientContext context;
    v1::GetJobRequest request;
    request.set_name("job");
    v1::GetJobResponse response;
    return stub_->GetJob(&context, request, &response);
  }
  std::string HttpGet(const std::string& path) const {
    const std::string& address = server_->http_address();
    return RawGet(
        static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))), path);
  }

  testing::MemoryStore memory_;
  testing::FaultStore* store_ = nullptr;
  std::unique_ptr<PackingServer> server_;
  std::unique_ptr<v1::PackingService::Stub> stub_;
};

TEST_F(PackingServerStoreTest, FiguresDoNotWaitForAJobThatIsReadBack) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_TRUE(Create("job").ok());
  store_->FailCommits(2);
  store_->BlockLoads();
  auto skipped = std::async(std::launch::async, [this] { return Skip(); });
  store_->WaitUntilLoadBlocked();
  EXPECT_THAT(HttpGet("/metrics"), HasSubstr("\nevenpack_jobs 1\n"));
  EXPECT_THAT(HttpGet("/healthz"), HasSubstr("HTTP/1.1 200"));
  const std::string list = HttpGet("/api/v1/jobs");
  EXPECT_THAT(list, HasSubstr("it is being read"));
  EXPECT_EQ(Get().error_code(), grpc::StatusCode::UNAVAILABLE);
  store_->Release();
  EXPECT_EQ(skipped.get().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(Get().ok());
}

TEST_F(PackingServerStoreTest, AJobThatCouldNotBeReadAtTheStartComesLater) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_TRUE(Create("job").ok());
  server_.reset();
  ASSERT_NO_FATAL_FAILURE(Start(/*failing_loads=*/1));
  const grpc::Status unread = Get();
  EXPECT_EQ(unread.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(unread.error_message(), HasSubstr("which is tried again"));
  // Some time later.
  while (Get().error_code() == grpc::StatusCode::UNAVAILABLE) {
  }
  EXPECT_TRUE(Get().ok());
}

TEST_F(PackingServerStoreTest, ADrainEndsInTimeThoughALateReadHangs) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_TRUE(Create("job").ok());
  server_.reset();
  ASSERT_NO_FATAL_FAILURE(Start(/*failing_loads=*/1));
  store_->BlockLoads();
  store_->WaitUntilLoadBlocked();
  EXPECT_EQ(server_->Drain(), Drained::kNotInTime);
  store_->Release();
  server_.reset();
}

}  // namespace
}  // namespace evenpack
