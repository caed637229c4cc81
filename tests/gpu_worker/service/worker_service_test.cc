#include "gpu_worker/service/worker_service.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "client/cpp/grpc_status.h"
#include "evenpack/v1/worker_service.grpc.pb.h"
#include "gpu_worker/attach/attach_client.h"
#include "gpu_worker/service/shape_messages.h"
#include "tests/gpu_worker/sidecar/pretended_job.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::PretendedJob;
using evenpack::testing::ScratchDirectory;
using evenpack::testing::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;

class WorkerServiceTest : public ::testing::Test {
 protected:
  WorkerServiceTest() {
    options_.socket_folder = folder_.path();
    options_.trainer_user = geteuid();
    options_.sidecar.memory_bytes = 1 << 20;
  }
  void Start() {
    auto server = WorkerServer::Start(job_.client(), options_);
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    stub_ = v1::WorkerService::NewStub(grpc::CreateChannel(
        "unix:" + ServiceSocketIn(folder_.path()), grpc::InsecureChannelCredentials()));
  }
  absl::Status Open(const AttachToken& token) {
    v1::OpenSessionRequest request;
    request.set_token(std::string(token.begin(), token.end()));
    request.set_job("job");
    request.set_member("m");
    ToMessage(AttentionShape{}, *request.mutable_shape());
    grpc::ClientContext context;
    v1::OpenSessionResponse response;
    return client::FromGrpcStatus(stub_->OpenSession(&context, request, &response));
  }
  v1::GetWorkerResponse Get() {
    grpc::ClientContext context;
    v1::GetWorkerResponse response;
    EXPECT_TRUE(stub_->GetWorker(&context, {}, &response).ok());
    return response;
  }

  const ScratchDirectory folder_;
  PretendedJob job_{2};
  WorkerServerOptions options_;
  std::unique_ptr<WorkerServer> server_;
  std::unique_ptr<v1::WorkerService::Stub> stub_;
};

TEST_F(WorkerServiceTest, ASessionIsOpenedWithTheTokenOfTheAttachSocket) {
  Start();
  const auto attached = Attach(AttachSocketIn(folder_.path()), 1000);
  ASSERT_THAT(attached, IsOk());
  EXPECT_THAT(Open({}), StatusIs(absl::StatusCode::kPermissionDenied, _));
  EXPECT_THAT(Open(attached->token()), IsOk());
  const v1::GetWorkerResponse worker = Get();
  EXPECT_EQ(worker.memory_bytes(), 1U << 20);
  EXPECT_EQ(worker.trainer_process(), static_cast<uint32_t>(getpid()));
  EXPECT_EQ(worker.session().cp_size(), 2U);
  grpc::ClientContext context;
  v1::CloseSessionRequest close;
  close.set_token(std::string(attached->token().begin(), attached->token().end()));
  v1::CloseSessionResponse closed;
  EXPECT_TRUE(stub_->CloseSession(&context, close, &closed).ok());
  EXPECT_FALSE(Get().has_session());
}

TEST_F(WorkerServiceTest, ItsSocketsAreForItsOwnUserUnlessTheTrainerIsAnother) {
  for (const bool another : {false, true}) {
    options_.trainer_user = geteuid() + (another ? 1 : 0);
    Start();
    for (const std::string& path :
         {AttachSocketIn(folder_.path()), ServiceSocketIn(folder_.path())}) {
      struct stat found {};
      ASSERT_EQ(stat(path.c_str(), &found), 0);
      EXPECT_EQ(found.st_mode & 0777, another ? 0666U : 0600U);
    }
    server_.reset();
  }
}

TEST_F(WorkerServiceTest, AFolderHasOneWorker) {
  Start();
  EXPECT_THAT(WorkerServer::Start(job_.client(), options_),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("worker.sock")));
  EXPECT_EQ(Get().trainer_process(), 0U);
  server_.reset();
  Start();
  EXPECT_EQ(Get().trainer_process(), 0U);
}

TEST_F(WorkerServiceTest, ItsEndLeavesNoFileAndWaitsForNobody) {
  job_.GoAway();
  Start();
  const auto attached = Attach(AttachSocketIn(folder_.path()), 1000);
  ASSERT_THAT(attached, IsOk());
  std::thread opening([&] { EXPECT_FALSE(Open(attached->token()).ok()); });
  job_.AwaitSomebodyWaiting();
  server_.reset();
  opening.join();
  EXPECT_TRUE(attached->IsGone());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

}  // namespace
}  // namespace evenpack::worker
