// Several servers over one store.
#include <gmock/gmock.h>
#include <google/rpc/error_details.pb.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "evenpack/v1/packing_service.grpc.pb.h"
#include "server/app/packing_server.h"
#include "tests/server/app/served_job.h"
#include "tests/server/service/status_details.h"
#include "tests/server/web/raw_client.h"
#include "tests/testing/shared_memory_store.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using google::rpc::ErrorInfo;
using testing::DetailIn;
using ::testing::EndsWith;
using testing::GrpcStatusIs;
using testing::IsGrpcOk;
using testing::IsOk;
using ::testing::Not;
using testing::SharedMemory;
using testing::SharedMemoryStore;
using ::testing::StartsWith;
using testing::StatusIs;

// A server and a client of it.
class Sharing {
 public:
  explicit Sharing(SharedMemory& memory, const std::string& listen = "127.0.0.1:0") {
    auto store = std::make_unique<SharedMemoryStore>(memory);
    store_ = store.get();
    ServerOptions options;
    options.listen = listen;
    options.insecure = true;
    options.http_listen = "";
    options.drain_seconds = 60;
    auto server = PackingServer::StartOver(std::move(store), options);
    EXPECT_THAT(server, IsOk());
    server_ = *std::move(server);
    const std::string& address = server_->grpc_address();
    stub_ = testing::StubAt("127.0.0.1" + address.substr(address.rfind(':')));
  }

  PackingServer& server() { return *server_; }
  SharedMemoryStore& store() { return *store_; }
  v1::PackingService::Stub& stub() { return *stub_; }
  const std::string& address() const { return server_->grpc_address(); }

  grpc::Status Create(const std::string& name) {
    return testing::CreateJobAt(*stub_, name);
  }
  grpc::Status Get(const std::string& name, v1::Job* job = nullptr) {
    grpc::ClientContext context;
    v1::GetJobRequest request;
    request.set_name(name);
    v1::GetJobResponse response;
    grpc::Status status = stub_->GetJob(&context, request, &response);
    if (job != nullptr) *job = response.job();
    return status;
  }
  // Once the server that it was given has read it.
  v1::Job GetOnceLed(const std::string& name) {
    v1::Job job;
    grpc::Status status = Get(name, &job);
    while (testing::ReasonIn(status) == "NO_LEADER") status = Get(name, &job);
    EXPECT_THAT(status, IsGrpcOk());
    return job;
  }

 private:
  std::unique_ptr<PackingServer> server_;
  SharedMemoryStore* store_ = nullptr;
  std::unique_ptr<v1::PackingService::Stub> stub_;
};

std::string AddressIn(const grpc::Status& status) {
  return DetailIn<ErrorInfo>(status).value_or(ErrorInfo()).metadata().at("address");
}

// As a live page that was open when the server was started again.
TEST(PackingServerSharingTest, OneThatCannotHaveItsPortEndsThoughItsPageIsAsked) {
  SharedMemory other;
  const Sharing holder(other);
  const uint16_t http_port = testing::FreePort();
  std::atomic<bool> over = false;
  std::thread page([&] {
    while (!over) {
      const testing::RawClient client(http_port);
      if (!client.connected()) continue;
      client.Send("GET /api/v1/jobs/job HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }
  });
  SharedMemory memory;
  ServerOptions options;
  options.listen = holder.address();
  options.insecure = true;
  options.http_listen = absl::StrCat("127.0.0.1:", http_port);
  for (int start = 0; start < 5; ++start) {
    EXPECT_THAT(
        PackingServer::StartOver(std::make_unique<SharedMemoryStore>(memory), options)
            .status(),
        StatusIs(absl::StatusCode::kUnavailable, StartsWith("listen: ")));
  }
  over = true;
  page.join();
}

TEST(PackingServerSharingTest, EachServesAndSaysWhoLeadsTheRest) {
  SharedMemory memory;
  Sharing one(memory);
  Sharing two(memory);
  ASSERT_THAT(one.Create("job"), IsGrpcOk());
  EXPECT_THAT(one.Get("job"), IsGrpcOk());
  EXPECT_EQ(AddressIn(two.Get("job")), one.address());
}

TEST(PackingServerSharingTest, AWildcardIsToldToNobodyHoweverItIsWritten) {
  for (const std::string host : {"0.0.0.0", "0", "*", "[::]", "[::0]"}) {
    SharedMemory memory;
    Sharing one(memory, host + ":0");
    Sharing two(memory);
    ASSERT_THAT(one.Create("job"), IsGrpcOk());
    const std::string address = AddressIn(two.Get("job"));
    EXPECT_THAT(address, Not(StartsWith(host)));
    const std::string& listening = one.address();
    EXPECT_THAT(address, EndsWith(listening.substr(listening.rfind(':'))));
  }
}

TEST(PackingServerSharingTest, ADrainHandsOverWhatWasCommittedAndSaysToWhom) {
  SharedMemory memory;
  Sharing one(memory);
  Sharing two(memory);
  ASSERT_THAT(one.Create("job"), IsGrpcOk());
  grpc::ClientContext context;
  const auto ingest = one.stub().Ingest(&context);
  v1::IngestRequest request;
  request.mutable_open()->set_job("job");
  request.mutable_open()->set_stream("a");
  ASSERT_TRUE(ingest->Write(request));
  request.mutable_batch()->set_first_sequence(0);
  for (int i = 0; i < 16; ++i) request.mutable_batch()->add_length(50);
  ASSERT_TRUE(ingest->Write(request));
  v1::IngestResponse told;
  while (told.next_sequence() < 16 && ingest->Read(&told)) {
  }
  v1::Job before;
  ASSERT_THAT(one.Get("job", &before), IsGrpcOk());
  EXPECT_EQ(one.server().Drain(), Drained::kAll);
  EXPECT_FALSE(ingest->Read(&told));
  EXPECT_EQ(AddressIn(ingest->Finish()), two.address());
  const v1::Job after = two.GetOnceLed("job");
  EXPECT_EQ(after.digest(), before.digest());
  EXPECT_EQ(after.next_step(), 2U);
}

TEST(PackingServerSharingTest, WithNoOtherServerADrainEndsAsOfOneAlone) {
  SharedMemory memory;
  {
    Sharing one(memory);
    ASSERT_THAT(one.Create("job"), IsGrpcOk());
    EXPECT_EQ(one.server().Drain(), Drained::kAll);
  }
  Sharing two(memory);
  EXPECT_EQ(two.GetOnceLed("job").next_step(), 0U);
}

TEST(PackingServerSharingTest, AJobMovesWhileTheServerServes) {
  SharedMemory memory;
  Sharing one(memory);
  Sharing two(memory);
  ASSERT_THAT(one.Create("job"), IsGrpcOk());
  memory.Move("job", &two.store());
  EXPECT_EQ(two.GetOnceLed("job").name(), "job");
  EXPECT_EQ(AddressIn(one.Get("job")), two.address());
  memory.Move("job", &one.store());
  EXPECT_EQ(one.GetOnceLed("job").name(), "job");
}

TEST(PackingServerSharingTest, ACallThatComesWhileItDrainsIsNotKeptWaiting) {
  SharedMemory memory;
  Sharing one(memory);
  EXPECT_EQ(one.server().Drain(), Drained::kAll);
  EXPECT_THAT(one.Get("job"),
              GrpcStatusIs(grpc::StatusCode::UNAVAILABLE, "", ::testing::_));
}

}  // namespace
}  // namespace evenpack
