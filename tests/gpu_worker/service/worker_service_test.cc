#include "gpu_worker/service/worker_service.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
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

// Frames of HTTP/2: types, and how many bytes are before the payload.
constexpr char kHeaders = 1;
constexpr char kSettings = 4;
constexpr char kPing = 6;
constexpr char kAnswer = 1;  // a flag of pings
constexpr size_t kHeadBytes = 9;

std::string Frame(char type, const std::string& payload, char flags = 0,
                  char stream = 0) {
  const auto size = static_cast<char>(payload.size());
  return std::string{0, 0, size, type, flags, 0, 0, 0, stream} + payload;
}

// A header of a name that HPACK has no number for, or (`name` empty) the one of that
// number.
std::string Header(char number, const std::string& name, const std::string& value) {
  const auto sized = [](const std::string& text) {
    return std::string(1, static_cast<char>(text.size())) + text;
  };
  return std::string(1, number) + (name.empty() ? "" : sized(name)) + sized(value);
}

// GetWorker without its message.
std::string WaitingCall() {
  constexpr char kEndOfHeaders = 4;
  const std::string post_over_http = "\x83\x86";
  return Frame(kHeaders,
               absl::StrCat(post_over_http,
                            Header(4, "", "/evenpack.v1.WorkerService/GetWorker"),
                            Header(1, "", "localhost"), Header(0, "te", "trailers"),
                            Header(0, "content-type", "application/grpc")),
               kEndOfHeaders, 1);
}

bool Send(int connection, const std::string& frames) {
  return send(connection, frames.data(), frames.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(frames.size());
}

// Whether there are so many bytes.
bool Receive(int connection, std::string& into) {
  return recv(connection, into.data(), into.size(), MSG_WAITALL) ==
         static_cast<ssize_t>(into.size());
}

// Whether one comes before the connection ends.
bool AwaitPingsAnswer(int connection) {
  std::string head(kHeadBytes, 0);
  while (Receive(connection, head)) {
    std::string payload(static_cast<uint8_t>(head[2]), 0);
    if (!payload.empty() && !Receive(connection, payload)) return false;
    if (head[3] == kPing && head[4] == kAnswer) return true;
  }
  return false;
}

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

// gRPC cuts a client off for its fourth ping within some minutes, if it isn't told.
TEST_F(WorkerServiceTest, AClientMayPingWhileItWaits) {
  options_.least_ping = std::chrono::milliseconds(0);
  Start();
  const auto connection = ConnectTo(ServiceSocketIn(folder_.path()));
  ASSERT_THAT(connection, IsOk());
  ASSERT_TRUE(
      Send(connection->get(), absl::StrCat("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                                           Frame(kSettings, ""), WaitingCall())));
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(Send(connection->get(), Frame(kPing, "8 bytes."))) << i;
    ASSERT_TRUE(AwaitPingsAnswer(connection->get())) << i;
  }
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
